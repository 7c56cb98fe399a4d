import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import {
  fingerprint,
  judgeHostKey,
  type KnownHosts,
  knownKeyTypes,
  lookupName,
  matchesPatterns,
  mergeKnownHosts,
  parseKnownHosts,
} from "@egress-proxies/providers/ssh/known-hosts";
import fc from "fast-check";

/** A public key's blob of a type, its body made from the seed. */
function blob(type: string, seed: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(type.length);
  return Buffer.concat([length, Buffer.from(type), Buffer.from(seed)]);
}
const line = (hosts: string, key: Buffer, type = "ssh-ed25519") =>
  `${hosts} ${type} ${key.toString("base64")}`;
const known = (...lines: string[]): KnownHosts => parseKnownHosts(lines.join("\n"), "known");

const A = blob("ssh-ed25519", "a");
const B = blob("ssh-ed25519", "b");
const RSA = blob("ssh-rsa", "r");

describe("known_hosts", () => {
  it("computes the fingerprint that ssh-keygen prints", () => {
    const key = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"; // github.com's
    assert.equal(
      fingerprint(Buffer.from(key, "base64")),
      "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU",
    );
  });

  it("matches one of several keys and names, and tells the line of a changed one", () => {
    const hosts = known("# comment", "", line("one,two", RSA, "ssh-rsa"), line("two", A), line("two", B));
    assert.equal(judgeHostKey(hosts, "two", B).kind, "match");
    assert.equal(judgeHostKey(hosts, "TWO", RSA).kind, "match");
    const verdict = judgeHostKey(known("", line("two", A)), "two", B);
    assert(verdict.kind === "mismatch");
    assert.deepEqual([verdict.entry.file, verdict.entry.line], ["known", 2]);
    assert.deepEqual([verdict.expected, verdict.actual], [fingerprint(A), fingerprint(B)]);
  });

  it("calls a host unknown whose keys are of other types only, and says which", () => {
    const verdict = judgeHostKey(known(line("one", RSA, "ssh-rsa")), "one", A);
    assert(verdict.kind === "unknown");
    assert.deepEqual(verdict.otherTypes, ["ssh-rsa"]);
  });

  it("refuses a revoked key in whichever file it is revoked", () => {
    const trusted = parseKnownHosts(line("one", A), "first");
    const revoked = parseKnownHosts(`@revoked ${line("*", A)}`, "second");
    const verdict = judgeHostKey(mergeKnownHosts([trusted, revoked]), "one", A);
    assert(verdict.kind === "revoked");
    assert.equal(verdict.entry.file, "second");
    assert.equal(judgeHostKey(mergeKnownHosts([trusted, revoked]), "one", B).kind, "mismatch");
  });

  it("never trusts a key because an authority's line holds it", () => {
    const verdict = judgeHostKey(known(`@cert-authority ${line("*", A)}`), "one", A);
    assert(verdict.kind === "unknown");
    assert.equal(verdict.authorities[0]?.line, 1);
    assert.deepEqual(knownKeyTypes(known(`@cert-authority ${line("*", A)}`), "one"), []);
  });

  it("finds a hashed name, whatever the salt", () => {
    const name = fc.stringMatching(/^[a-z0-9.-]{1,30}$/);
    fc.assert(
      fc.property(name, name, (host, other) => {
        const salt = randomBytes(20);
        const digest = createHmac("sha1", salt).update(host).digest("base64");
        const hosts = known(line(`|1|${salt.toString("base64")}|${digest}`, A));
        assert.equal(judgeHostKey(hosts, host, A).kind, "match");
        assert.equal(judgeHostKey(hosts, other, A).kind, host === other ? "match" : "unknown");
      }),
    );
  });

  const damaged: [string, string, RegExp][] = [
    ["too few fields", "host ssh-ed25519", /fewer than three fields/],
    ["an unknown marker", `@trusted ${line("host", A)}`, /@trusted/],
    ["a key that is not base64", "host ssh-ed25519 ***", /not base64/],
    ["a key of another type", line("host", A, "ssh-rsa"), /not of the type ssh-rsa/],
    ["a damaged hash", line("|1|abc|def", A), /hashed name/],
  ];
  for (const [what, text, problem] of damaged) {
    it(`reports ${what} with its line`, () => {
      const { entries, problems } = parseKnownHosts(`${line("good", A)}\n${text}`, "known");
      assert.equal(entries.length, 1);
      assert.equal(problems[0]?.line, 2);
      assert.match(problems[0]?.problem ?? "", problem);
    });
  }

  it("passes over keys of protocol 1 and keeps what follows a key as a comment", () => {
    const { entries, problems } = known("host 1024 65537 1234567890", `${line("host", A)} a comment`);
    assert.equal(entries.length, 1);
    assert.equal(problems.length, 0);
  });

  it("never throws, whatever the file holds", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        judgeHostKey(parseKnownHosts(text, "known"), "host", A);
      }),
    );
  });
});

describe("the name that is looked up", () => {
  const cases: [string, number, string | undefined, string][] = [
    ["Host", 22, undefined, "host"],
    ["host", 2222, undefined, "[host]:2222"],
    ["::1", 2222, undefined, "[::1]:2222"],
    ["host", 2222, "alias", "alias"],
  ];
  for (const [host, port, alias, name] of cases) {
    it(`is ${name} for ${host}, port ${port}, alias ${alias}`, () =>
      assert.equal(lookupName(host, port, alias), name));
  }
});

describe("pattern lists", () => {
  const cases: [string, string, boolean][] = [
    ["*.example.org", "a.example.org", true],
    ["*.example.org", "example.org", false],
    ["10.0.0.?", "10.0.0.7", true],
    ["10.0.0.?", "10.0.0.17", false],
    ["*,!bad.*", "bad.host", false],
    ["!bad.*,*", "good.host", true],
    ["!bad.*", "good.host", false],
    ["[host]:22*", "[host]:2222", true],
    ["a.b", "axb", false],
    ["*a*b*c", "xxaxxbxxc", true],
    ["HOST", "host", true],
  ];
  for (const [patterns, name, expected] of cases) {
    it(`${patterns} ${expected ? "matches" : "does not match"} ${name}`, () => {
      assert.equal(matchesPatterns(patterns.split(","), name), expected);
    });
  }

  it("agree with a regular expression", () => {
    const pattern = fc.stringMatching(/^[ab*?]{0,12}$/);
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[ab]{0,12}$/), (text, name) => {
        const expected = new RegExp(`^${text.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(name);
        assert.equal(matchesPatterns([text], name), expected);
      }),
    );
  });
});
