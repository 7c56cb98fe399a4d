import { PermanentError } from "../machine/errors";

/** What an image's bytes, as they come from the source, must hash to. */
export interface Digest {
  algorithm: "sha256" | "sha512";
  /** Lower case. */
  hex: string;
}

const HEX_DIGITS = { sha256: 64, sha512: 128 } as const;

/** `sha256:` or `sha512:` with their hex digits, or the bare 64 or 128 of them; undefined for anything else. */
export function parseDigest(text: string): Digest | undefined {
  const match = /^(?:(sha256|sha512):)?([0-9a-f]+)$/i.exec(text.trim());
  if (match === null) return undefined;
  const hex = match[2]!.toLowerCase();
  const algorithm = match[1]?.toLowerCase() ?? (hex.length === HEX_DIGITS.sha512 ? "sha512" : "sha256");
  if (algorithm !== "sha256" && algorithm !== "sha512") return undefined;
  return hex.length === HEX_DIGITS[algorithm] ? { algorithm, hex } : undefined;
}

export function formatDigest({ algorithm, hex }: Digest): string {
  return `${algorithm}:${hex}`;
}

/** True where a text can only have been meant as a digest, so that a mistyped one is not taken for a path. */
export function looksLikeDigest(text: string): boolean {
  return /^\s*(sha\d+:.*|[0-9a-f]{32,})\s*$/i.test(text);
}

/** `HASH  name`, `HASH *name` (coreutils), the name possibly with a directory. */
const GNU_LINE = /^([0-9a-f]{64}|[0-9a-f]{128})[ \t]+\*?(.+)$/i;
/** `SHA256 (name) = HASH` (BSD, `sha256sum --tag`). */
const BSD_LINE = /^(SHA256|SHA512)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-f]+)$/i;

/**
 * The digest that a checksum file gives for a file name; a file that holds one
 * bare digest and nothing else speaks for any name. The stronger of two
 * algorithms wins.
 *
 * @throws PermanentError `ChecksumMissing` where no line names the file,
 * `ChecksumAmbiguous` where lines for it disagree.
 */
export function findChecksum(text: string, fileName: string, where: string): Digest {
  const only = parseDigest(text);
  if (only !== undefined) return only;
  const found = text
    .split(/\r?\n/)
    .map(checksumLine)
    .filter((line) => line !== undefined)
    .filter(({ name }) => baseName(name) === fileName)
    .map(({ digest }) => digest);
  const strongest = found.find(({ algorithm }) => algorithm === "sha512") ?? found[0];
  if (strongest === undefined) {
    throw new PermanentError({
      reason: "ChecksumMissing",
      where,
      message: `the checksum file has no SHA-256 or SHA-512 line for ${fileName}`,
      remedy: "Name the checksum file that lists this image, or give the digest itself.",
    });
  }
  if (found.some(({ algorithm, hex }) => algorithm === strongest.algorithm && hex !== strongest.hex)) {
    throw new PermanentError({
      reason: "ChecksumAmbiguous",
      where,
      message: `the checksum file gives more than one digest for ${fileName}`,
      remedy: "Give the right digest itself.",
    });
  }
  return strongest;
}

function checksumLine(line: string): { name: string; digest: Digest } | undefined {
  const text = line.trim();
  const [, algorithm, bsdName, bsdHex] = BSD_LINE.exec(text) ?? [];
  const [, gnuHex, gnuName] = GNU_LINE.exec(text) ?? [];
  const name = bsdName ?? gnuName;
  const digest = parseDigest(bsdHex === undefined ? (gnuHex ?? "") : `${algorithm}:${bsdHex}`);
  return name === undefined || digest === undefined ? undefined : { name, digest };
}

function baseName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
