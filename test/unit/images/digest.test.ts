import assert from "node:assert/strict";
import {
  findChecksum,
  formatDigest,
  looksLikeDigest,
  parseDigest,
} from "@egress-proxies/providers/images/digest";
import fc from "fast-check";

const A = "a".repeat(64);
const B = "b".repeat(64);
const LONG = "c".repeat(128);
const NAME = "debian-12-genericcloud-amd64.qcow2";

describe("digest", () => {
  it("reads bare and prefixed digests of both algorithms", () => {
    assert.deepEqual(parseDigest(A.toUpperCase()), { algorithm: "sha256", hex: A });
    assert.deepEqual(parseDigest(`sha256:${A}`), { algorithm: "sha256", hex: A });
    assert.deepEqual(parseDigest(LONG), { algorithm: "sha512", hex: LONG });
    assert.deepEqual(parseDigest(`sha512:${LONG}`), { algorithm: "sha512", hex: LONG });
  });

  it("refuses digests of the wrong length", () => {
    for (const text of ["", A.slice(1), `${A}0`, `sha512:${A}`, `sha256:${LONG}`, `md5:${A}`]) {
      assert.equal(parseDigest(text), undefined, text);
    }
  });

  it("tells a mistyped digest from a path", () => {
    assert.equal(looksLikeDigest(A.slice(1)), true);
    assert.equal(looksLikeDigest("sha256:xyz"), true);
    for (const path of ["SHA256SUMS", "./images/SHA256SUMS", "https://example.org/SHA256SUMS"]) {
      assert.equal(looksLikeDigest(path), false, path);
    }
  });

  it("reads back what it writes", () => {
    const hex = (length: number) =>
      fc
        .array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
        .map((digits) => digits.join(""));
    const digests = fc.oneof(
      hex(64).map((text) => ({ algorithm: "sha256" as const, hex: text })),
      hex(128).map((text) => ({ algorithm: "sha512" as const, hex: text })),
    );
    fc.assert(fc.property(digests, (digest) => assert.deepEqual(parseDigest(formatDigest(digest)), digest)));
  });
});

describe("checksum file", () => {
  const found: [string, string, string][] = [
    ["coreutils, text mode", `${B}  other.qcow2\n${A}  ${NAME}\n`, A],
    ["coreutils, binary mode", `${B} *other.qcow2\n${A} *${NAME}\n`, A],
    ["coreutils, with a directory", `${A}  ./images/${NAME}\n`, A],
    ["BSD", `SHA256 (other.qcow2) = ${B}\nSHA256 (${NAME}) = ${A}\n`, A],
    [
      "Fedora: a comment with the size, then BSD, signed",
      `# ${NAME}: 123 bytes\nSHA256 (${NAME}) = ${A}\n`,
      A,
    ],
    ["carriage returns", `${A}  ${NAME}\r\n`, A],
    ["nothing but the digest", `${A}\n`, A],
    ["both algorithms", `SHA256 (${NAME}) = ${A}\nSHA512 (${NAME}) = ${LONG}\n`, LONG],
    ["the same line twice", `${A}  ${NAME}\n${A}  ${NAME}\n`, A],
    ["a name that ends alike", `${B}  x-${NAME}\n${A}  ${NAME}\n`, A],
  ];
  for (const [what, text, hex] of found) {
    it(`is read: ${what}`, () => assert.equal(findChecksum(text, NAME, "SHA256SUMS").hex, hex));
  }

  const refused: [string, string, string][] = [
    ["the name is not listed", `${A}  other.qcow2\n`, "ChecksumMissing"],
    ["it lists MD5 only", `${"a".repeat(32)}  ${NAME}\n`, "ChecksumMissing"],
    ["it is an HTML page", "<html><body>Sign in</body></html>", "ChecksumMissing"],
    ["it is empty", "", "ChecksumMissing"],
    ["its lines disagree", `${A}  a/${NAME}\n${B}  b/${NAME}\n`, "ChecksumAmbiguous"],
  ];
  for (const [what, text, reason] of refused) {
    it(`is refused: ${what}`, () =>
      assert.throws(() => findChecksum(text, NAME, "SHA256SUMS"), { reason, where: "SHA256SUMS" }));
  }

  it("never crashes, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          findChecksum(text, NAME, "here");
        } catch (error) {
          assert.match((error as { reason: string }).reason, /^Checksum(Missing|Ambiguous)$/);
        }
      }),
    );
  });
});
