import assert from "node:assert/strict";
import { type HostKeyCheck, hostKeyAlgorithms, hostKeyProblem } from "@egress-proxies/providers/ssh/host-key";
import { parseKnownHosts } from "@egress-proxies/providers/ssh/known-hosts";

const key = (type: string, body = "x") =>
  Buffer.concat([Buffer.from([0, 0, 0, type.length]), Buffer.from(type), Buffer.from(body)]);
const entry = (host: string, type: string, body?: string) =>
  `${host} ${type} ${key(type, body).toString("base64")}\n`;
const check = (text: string, changes: Partial<HostKeyCheck> = {}): HostKeyCheck => ({
  where: "lab (host)",
  host: "host",
  port: 22,
  known: parseKnownHosts(text, "/known hosts"),
  name: "host",
  alias: undefined,
  files: ["/known hosts"],
  jump: undefined,
  ...changes,
});

describe("host key algorithms", () => {
  it("put the known types first, RSA with its SHA-2 signatures, and offer the rest after", () => {
    const order = hostKeyAlgorithms(check(entry("host", "ssh-rsa") + entry("host", "ecdsa-sha2-nistp384")));
    assert.deepEqual(order.slice(0, 4), ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa", "ecdsa-sha2-nistp384"]);
    assert.equal(new Set(order).size, order.length);
    assert(order.includes("ssh-ed25519"));
  });

  it("follow the entry without a port where the one with a port is missing", () => {
    const text = entry("host", "ssh-rsa");
    assert.equal(hostKeyAlgorithms(check(text, { port: 2222, name: "[host]:2222" }))[0], "rsa-sha2-512");
    assert.equal(
      hostKeyAlgorithms(check(text, { name: "other", alias: "other", port: 2222 }))[0],
      "ssh-ed25519",
    );
  });
});

describe("a host key's remedy", () => {
  const unknown = (changes: Partial<HostKeyCheck>) =>
    hostKeyProblem(check("", changes), key("ssh-ed25519"))?.remedy ?? "";

  it("scans port and file as a shell takes them", () => {
    assert.match(
      unknown({ port: 2222, name: "[host]:2222" }),
      /ssh-keyscan -p 2222 host >> '\/known hosts'$/,
    );
  });

  it("renames the host to its alias, and scans from the jump host", () => {
    assert.match(
      unknown({ alias: "web", name: "web", jump: "me@jump" }),
      /ssh me@jump ssh-keyscan host \| sed 's\/\^\[\^# \]\*\/web\/' >> /,
    );
  });

  it("trusts no file whose line about revoked keys cannot be read", () => {
    const problem = hostKeyProblem(
      check(`${entry("host", "ssh-ed25519")}@revoked host\n`),
      key("ssh-ed25519"),
    );
    assert.equal(problem?.reason, "KnownHostsInvalid");
    assert.equal(
      hostKeyProblem(check(`${entry("host", "ssh-ed25519")}rubbish\n`), key("ssh-ed25519")),
      undefined,
    );
  });

  it("keeps a key revoked that only the name without its port revokes", () => {
    const text = `@revoked ${entry("host", "ssh-ed25519")}`;
    const problem = hostKeyProblem(check(text, { port: 2222, name: "[host]:2222" }), key("ssh-ed25519"));
    assert.equal(problem?.reason, "HostKeyRevoked");
  });
});
