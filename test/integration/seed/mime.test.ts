import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { joinVendorData } from "@egress-proxies/providers/seed/vendor-data";

const SCRIPT = "#!/bin/sh\n# the agent's\nexit 0\n";

/** Reads a message as cloud-init does (user_data.py, convert_string and walk) and prints its leaves. */
const READER = `
import email, json, sys
text = sys.stdin.buffer.read().decode("utf-8")
assert "mime-version:" in text[:4096].lower()
leaves = [
    {"type": part.get_content_type(), "name": part.get_filename(), "hex": part.get_payload(decode=True).hex()}
    for part in email.message_from_string(text).walk()
    if part.get_content_maintype() != "multipart"
]
print(json.dumps(leaves))
`;

interface Leaf {
  type: string;
  name: string | null;
  content: Buffer;
}

function leaves(own: string | Uint8Array): Leaf[] {
  const message = joinVendorData(Buffer.from(own as string), SCRIPT);
  const output = execFileSync("python3", ["-c", READER], { input: message, encoding: "utf8" });
  const found = JSON.parse(output) as { type: string; name: string | null; hex: string }[];
  return found.map(({ type, name, hex }) => ({ type, name, content: Buffer.from(hex, "hex") }));
}

describe("joined vendor-data and python's email parser", () => {
  const contents: Record<string, string> = {
    "a cloud-config": "#cloud-config\nruncmd: [[echo, hi]]\n",
    "a text without a final line break": "#cloud-config\n{}",
    "a text with many": "#cloud-config\n{}\n\n\n",
    "characters beyond ASCII": "#!/bin/sh\necho 'größer 😀'\n",
    "carriage returns": "#!/bin/sh\r\necho hi\r\n",
    "lines like boundaries and headers": "#!/bin/sh\n--x\nFrom me\nSubject: y\n\n.\n",
    "a long line": `#!/bin/sh\n#${"x".repeat(5000)}\n`,
  };
  for (const [what, own] of Object.entries(contents)) {
    it(`brings through ${what}`, () => {
      const [user, agent, ...rest] = leaves(own);
      assert.deepEqual(rest, []);
      assert.deepEqual(user, { type: "text/plain", name: null, content: Buffer.from(own) });
      assert.equal(agent?.type, "text/x-shellscript");
      assert.equal(agent.name, "egress-proxies-guest-agent");
      assert.deepEqual(agent.content, Buffer.from(SCRIPT));
    });
  }

  it("brings through a MIME message's own parts", () => {
    const own = [
      'Content-Type: multipart/mixed; boundary="own"',
      "MIME-Version: 1.0",
      "",
      "--own",
      "Content-Type: text/cloud-config",
      "",
      "#cloud-config",
      "--own",
      "Content-Type: text/x-shellscript",
      "",
      "#!/bin/sh",
      "--own--",
      "",
    ].join("\n");
    assert.deepEqual(
      leaves(own).map(({ type, content }) => [type, content.toString()]),
      [
        ["text/cloud-config", "#cloud-config"],
        ["text/x-shellscript", "#!/bin/sh"],
        ["text/x-shellscript", SCRIPT],
      ],
    );
  });
});
