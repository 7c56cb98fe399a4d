import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { PermanentError } from "../machine/errors";

/** The file name under which cloud-init keeps the script in the guest. */
const SCRIPT_NAME = "egress-proxies-guest-agent";

/**
 * Joins the user's own vendor-data and a script of ours to one MIME message, of which cloud-init handles each
 * part. `MIME-Version` comes first: cloud-init looks for it in the first 4096 bytes. Of the user's part:
 * - gzip is unpacked, since cloud-init unpacks only whole vendor-data;
 * - a MIME message of its own becomes a nested one, whose parts cloud-init walks through;
 * - anything else is `text/plain`, which makes cloud-init tell its kind by its first line, as it does without us.
 */
export function joinVendorData(own: Uint8Array, script: string): Buffer {
  const user = unpacked(own);
  const userPart = isMime(user)
    ? user
    : part([`Content-Type: text/plain; charset="utf-8"`, `Content-Disposition: inline`], user);
  const scriptPart = part(
    [
      `Content-Type: text/x-shellscript; charset="us-ascii"`,
      `Content-Disposition: attachment; filename="${SCRIPT_NAME}"`,
    ],
    Buffer.from(script),
  );
  const boundary = freeBoundary([userPart, scriptPart]);
  const lines: (string | Buffer)[] = [
    "MIME-Version: 1.0\n",
    `Content-Type: multipart/mixed; boundary="${boundary}"\n\n`,
    `--${boundary}\n`,
    userPart,
    `\n--${boundary}\n`,
    scriptPart,
    `\n--${boundary}--\n`,
  ];
  return Buffer.concat(lines.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)));
}

function unpacked(bytes: Uint8Array): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return Buffer.from(bytes);
  try {
    return gunzipSync(bytes);
  } catch (cause) {
    throw new PermanentError({
      reason: "VendorDataCorrupt",
      where: "vendorData",
      message: "starts like gzip but cannot be unpacked",
      remedy: "Give it whole, or as plain text",
      cause,
    });
  }
}

/** Does it begin with a block of header lines, `MIME-Version` among them? */
function isMime(bytes: Buffer): boolean {
  const head =
    bytes
      .subarray(0, 4096)
      .toString("latin1")
      .split(/\r?\n\r?\n/, 1)[0] ?? "";
  const lines = head.split(/\r?\n/);
  return (
    lines.every((line) => /^([\x21-\x39\x3b-\x7e]+:|[ \t]|From )/.test(line)) &&
    lines.some((line) => /^mime-version:/i.test(line))
  );
}

/** A part as it is where mail software keeps every byte of it, else in base64. */
function part(headers: readonly string[], content: Buffer): Buffer {
  const text = content.toString("latin1");
  const plain = /^[\t\n\x20-\x7e]*$/.test(text) && text.split("\n").every((line) => line.length <= 998);
  const encoding = plain ? "7bit" : "base64";
  const body = plain ? text : (content.toString("base64").match(/.{1,76}/g) ?? []).join("\n");
  return Buffer.from([...headers, `Content-Transfer-Encoding: ${encoding}`, "", body].join("\n"), "latin1");
}

/** A boundary made from the content, so that it stays the same, and found nowhere in it (RFC 2046, 5.1.1). */
function freeBoundary(parts: readonly Buffer[]): string {
  for (let salt = 0; ; salt++) {
    const digest = createHash("sha256").update(String(salt));
    for (const bytes of parts) digest.update(bytes);
    const boundary = `=-${digest.digest("hex").slice(0, 32)}`;
    if (parts.every((bytes) => !bytes.includes(boundary))) return boundary;
  }
}
