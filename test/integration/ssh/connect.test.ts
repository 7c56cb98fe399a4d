import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { unlinkSync } from "node:fs";
import { createServer } from "node:net";
import { PermanentError, TransientError } from "@egress-proxies/providers/machine/errors";
import type { SshTarget } from "@egress-proxies/providers/machine/spec";
import { type ConnectOptions, connectSsh } from "@egress-proxies/providers/ssh/connection";
import { addKnownHosts, Sshd, startAgent, startSilentServer, Workshop } from "./sshd";

type Failure = {
  reason: string;
  type: typeof PermanentError | typeof TransientError;
  says?: readonly (RegExp | string)[];
};

describe("connectSsh", () => {
  let shop: Workshop;
  let sshd: Sshd;

  before(async () => {
    shop = new Workshop();
    sshd = await Sshd.start(shop, { hostKeys: ["ed25519", "ecdsa", "rsa"] });
  });
  after(() => shop.stop());
  afterEach(() => {
    for (const name of Object.keys(shop.variables)) delete shop.variables[name];
    shop.write(".ssh/known_hosts", "");
    shop.write(".ssh/config", "");
  });

  async function succeeds(target: SshTarget): Promise<void> {
    const connection = await connectSsh(target, shop.env());
    try {
      const stream = await connection.exec("echo reached");
      stream.end();
      let output = "";
      for await (const chunk of stream) output += String(chunk);
      assert.equal(output, "reached\n");
    } finally {
      await connection.close();
    }
  }

  async function fails(target: SshTarget, expected: Failure, options?: ConnectOptions): Promise<void> {
    await assert.rejects(connectSsh(target, shop.env(), options), (error: unknown) => {
      assert(error instanceof expected.type, String(error));
      assert.equal(error.reason, expected.reason, error.message);
      assert.match(error.where ?? "", /^host lab \(/);
      for (const part of expected.says ?? []) {
        if (typeof part === "string")
          assert(error.message.includes(part), `${part} is not in: ${error.message}`);
        else assert.match(error.message, part);
      }
      return true;
    });
  }

  describe("host keys", () => {
    for (const type of ["ed25519", "ecdsa", "rsa"] as const) {
      it(`accepts the ${type} key where only that one is known`, async () => {
        await succeeds(sshd.target({ knownHostsFile: shop.write("known", sshd.knownHost(type)) }));
      });
    }

    it("accepts a hashed entry", async () => {
      const file = shop.write("hashed", sshd.knownHost());
      execFileSync("ssh-keygen", ["-q", "-H", "-f", file], { stdio: "ignore" });
      await succeeds(sshd.target({ knownHostsFile: file }));
    });

    it("accepts a key that is known without a port", async () => {
      await succeeds(
        sshd.target({ knownHostsFile: shop.write("bare", sshd.knownHost("ed25519", "127.0.0.1")) }),
      );
    });

    it("reads ~/.ssh/known_hosts where no file is named", async () => {
      addKnownHosts(shop, sshd.knownHost());
      const { knownHostsFile: _, ...target } = sshd.target();
      await succeeds(target);
    });

    it("refuses another key, and its remedy makes the connection work", async () => {
      const file = shop.write(
        "wrong",
        `# a comment\n[127.0.0.1]:${sshd.port} ${shop.publicKey("stranger")}\n`,
      );
      const target = sshd.target({ knownHostsFile: file });
      const fingerprints = ["stranger.pub", `sshd-${sshd.port}-ed25519.pub`].map(
        (name) =>
          execFileSync("ssh-keygen", ["-lf", shop.path(name)], { encoding: "utf8" }).split(" ")[1] ?? "",
      );
      await fails(target, {
        reason: "HostKeyMismatch",
        type: PermanentError,
        says: [`${file}, line 2`, ...fingerprints, `ssh-keygen -R '[127.0.0.1]:${sshd.port}' -f ${file}`],
      });
      const remedy = await connectSsh(target, shop.env()).then(
        () => "",
        (error: PermanentError) => error.remedy ?? "",
      );
      const [, remove, scan] = /(ssh-keygen -R .*), then (.*)$/.exec(remedy) ?? [];
      assert(remove !== undefined && scan !== undefined, remedy);
      execFileSync("sh", ["-c", `${remove}; ${scan}`], { stdio: "ignore" });
      await succeeds(target);
    });

    it("refuses a revoked key though another line trusts it", async () => {
      const file = shop.write(
        "revoked",
        `${sshd.knownHost()}@revoked * ${shop.publicKey(`sshd-${sshd.port}-ed25519`)}\n`,
      );
      await fails(sshd.target({ knownHostsFile: file }), {
        reason: "HostKeyRevoked",
        type: PermanentError,
        says: [`${file}, line 2`],
      });
    });

    it("refuses an unknown host, and its remedy makes the connection work", async () => {
      const file = shop.write("empty", "");
      const target = sshd.target({ knownHostsFile: file });
      await fails(target, {
        reason: "HostKeyUnknown",
        type: PermanentError,
        says: ["ssh-keyscan", "ssh-keygen -lf"],
      });
      const error = await connectSsh(target, shop.env()).then(
        () => undefined,
        (reason: PermanentError) => reason,
      );
      const scan = /(ssh-keyscan .*)$/.exec(error?.remedy ?? "")?.[1];
      assert(scan !== undefined);
      execFileSync("sh", ["-c", scan], { stdio: "ignore" });
      await succeeds(target);
    });

    it("says that a certificate authority's line does not count", async () => {
      const file = shop.write("ca", `@cert-authority * ${shop.publicKey("stranger")}\n`);
      await fails(sshd.target({ knownHostsFile: file }), {
        reason: "HostKeyUnknown",
        type: PermanentError,
        says: ["@cert-authority", `${file}, line 1`],
      });
    });

    it("tells a damaged and a missing known_hosts file apart", async () => {
      await fails(sshd.target({ knownHostsFile: shop.write("damaged", "\u0000garbage\n") }), {
        reason: "KnownHostsInvalid",
        type: PermanentError,
        says: ["damaged, line 1"],
      });
      await fails(sshd.target({ knownHostsFile: shop.directory }), {
        reason: "KnownHostsInvalid",
        type: PermanentError,
      });
      await fails(sshd.target({ knownHostsFile: shop.path("nowhere") }), {
        reason: "CredentialsUnavailable",
        type: TransientError,
        says: [shop.path("nowhere")],
      });
    });
  });

  describe("keys", () => {
    before(() => {
      shop.keygen("locked", "ed25519", "correct horse");
      shop.keygen("rsa-key", "rsa");
      shop.write("more-keys", `${shop.publicKey("locked")}\n${shop.publicKey("rsa-key")}\n`);
    });

    it("logs in with the named key, an RSA key too", async () => {
      await succeeds(sshd.target());
      await succeeds(sshd.target({ keyFile: shop.path("rsa-key") }));
    });

    it("names user, key and remedy where the server refuses", async () => {
      await fails(sshd.target({ keyFile: shop.path("stranger") }), {
        reason: "Unauthorized",
        type: PermanentError,
        says: [
          sshd.user,
          shop.path("stranger"),
          `ssh-copy-id -i ${shop.path("stranger")} -p ${sshd.port} ${sshd.user}@127.0.0.1`,
        ],
      });
    });

    it("is refused as well where the server ends the connection after too many attempts", async () => {
      const strict = await Sshd.start(shop, { config: ["MaxAuthTries 1"] });
      await fails(strict.target({ keyFile: shop.path("stranger") }), {
        reason: "Unauthorized",
        type: PermanentError,
      });
    });

    it("opens an encrypted key with the passphrase of the variable", async () => {
      const target = sshd.target({ keyFile: shop.path("locked"), passphraseEnv: "KEY_PASSPHRASE" });
      shop.variables.KEY_PASSPHRASE = "correct horse";
      await succeeds(target);
      shop.variables.KEY_PASSPHRASE = "wrong donkey";
      await fails(target, {
        reason: "CredentialsInvalid",
        type: PermanentError,
        says: [/^(?!.*wrong donkey).*KEY_PASSPHRASE/s],
      });
      delete shop.variables.KEY_PASSPHRASE;
      await fails(target, {
        reason: "CredentialsInvalid",
        type: PermanentError,
        says: ["KEY_PASSPHRASE is not set"],
      });
      const { passphraseEnv: _, ...bare } = target;
      await fails(bare, { reason: "CredentialsInvalid", type: PermanentError, says: ["ssh-add"] });
    });

    it("heals when a missing key appears", async () => {
      const target = sshd.target({ keyFile: shop.path("late") });
      await fails(target, {
        reason: "CredentialsUnavailable",
        type: TransientError,
        says: [shop.path("late")],
      });
      execFileSync("cp", ["-p", shop.path("client"), shop.path("late")]);
      await succeeds(target);
      unlinkSync(shop.path("late"));
    });

    it("calls a damaged key damaged, and shows nothing of it", async () => {
      const secret = "b3BlbnNzaC1rZXktdjEAAAAA";
      const file = shop.write(
        "broken",
        `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}\n-----END OPENSSH PRIVATE KEY-----\n`,
      );
      await fails(sshd.target({ keyFile: file }), {
        reason: "CredentialsInvalid",
        type: PermanentError,
        says: [/^(?!.*b3Blb)/s],
      });
    });

    it("uses the agent where no key is named, and for an encrypted key that it holds", async () => {
      shop.variables.SSH_AUTH_SOCK = await startAgent(shop, ["stranger", "client"]);
      const { keyFile: _, ...target } = sshd.target();
      await succeeds(target);
      await fails(sshd.target({ keyFile: shop.path("stranger") }), {
        reason: "Unauthorized",
        type: PermanentError,
      });
      await succeeds(sshd.target({ keyFile: shop.path("client.pub") }));
      execFileSync("cp", ["-p", shop.path("client"), shop.path("client-locked")]);
      execFileSync("ssh-keygen", [
        "-q",
        "-p",
        "-P",
        "",
        "-N",
        "correct horse",
        "-f",
        shop.path("client-locked"),
      ]);
      await succeeds(sshd.target({ keyFile: shop.path("client-locked") }));
    });

    it("uses ~/.ssh/id_ed25519 last, and says what it looked for", async () => {
      const { keyFile: _, ...target } = sshd.target();
      shop.variables.SSH_AUTH_SOCK = shop.path("no-agent");
      await fails(target, {
        reason: "CredentialsUnavailable",
        type: TransientError,
        says: ["id_ed25519", "no-agent"],
      });
      execFileSync("cp", ["-p", shop.path("client"), shop.path(".ssh/id_ed25519")]);
      await succeeds(target);
      unlinkSync(shop.path(".ssh/id_ed25519"));
    });
  });

  describe("ssh_config", () => {
    const entry = (alias: string, port: number, more = "") =>
      `Host ${alias}\n  HostName 127.0.0.1\n  Port ${port}\n  User ${sshd.user}\n  IdentityFile ~/client\n${more}`;

    it("follows an alias, and what the target sets wins", async () => {
      addKnownHosts(shop, sshd.knownHost());
      shop.write(".ssh/config", entry("hyper", sshd.port));
      await succeeds({ name: "lab", address: "hyper" });
      shop.write(".ssh/config", entry("hyper", 1));
      await succeeds({ name: "lab", address: "hyper", port: sshd.port });
      await fails(
        { name: "lab", address: "hyper", port: sshd.port, keyFile: shop.path("stranger") },
        {
          reason: "Unauthorized",
          type: PermanentError,
        },
      );
    });

    it("looks the host key up under HostKeyAlias", async () => {
      addKnownHosts(shop, sshd.knownHost("ed25519", "the-alias"));
      shop.write(".ssh/config", entry("hyper", sshd.port, "  HostKeyAlias the-alias\n"));
      await succeeds({ name: "lab", address: "hyper" });
    });

    it("jumps through a chain of hosts and verifies each", async () => {
      const first = await Sshd.start(shop);
      const second = await Sshd.start(shop);
      addKnownHosts(shop, sshd.knownHost(), first.knownHost());
      shop.write(
        ".ssh/config",
        entry("hyper", sshd.port, `  ProxyJump one,${sshd.user}@two:${second.port}\n`) +
          entry("one", first.port) +
          `Host two\n  HostName 127.0.0.1\n  IdentityFile %d/client\n`,
      );
      const target = { name: "lab", address: "hyper" };
      await fails(target, {
        reason: "HostKeyUnknown",
        type: PermanentError,
        says: [`lab (127.0.0.1:${second.port})`, `ssh ${sshd.user}@127.0.0.1 ssh-keyscan`],
      });
      addKnownHosts(shop, second.knownHost());
      await succeeds(target);
    });

    it("says that the jump host refuses, or cannot reach the next", async () => {
      const jump = await Sshd.start(shop, { config: ["AllowTcpForwarding no"] });
      addKnownHosts(shop, sshd.knownHost(), jump.knownHost());
      shop.write(".ssh/config", entry("hyper", sshd.port, "  ProxyJump jump\n") + entry("jump", jump.port));
      await fails({ name: "lab", address: "hyper" }, { reason: "ForwardingRefused", type: PermanentError });
      shop.write(".ssh/config", entry("hyper", 1, "  ProxyJump jump\n") + entry("jump", sshd.port));
      await fails({ name: "lab", address: "hyper" }, { reason: "Unreachable", type: TransientError });
    });
  });

  describe("a host that cannot be reached", () => {
    it("refuses the connection", async () => {
      await fails(sshd.target({ port: 1 }), {
        reason: "Unreachable",
        type: TransientError,
        says: ["ECONNREFUSED"],
      });
    });

    it("has no address", async () => {
      await fails(sshd.target({ address: "no-such-host.invalid" }), {
        reason: "Unreachable",
        type: TransientError,
        says: ["no-such-host.invalid"],
      });
    });

    it("accepts and says nothing", async () => {
      const port = await startSilentServer(shop);
      await fails(
        sshd.target({ port }),
        { reason: "Timeout", type: TransientError, says: ["0.2 s"] },
        { timeoutMs: 200 },
      );
    });

    it("accepts and hangs up", async () => {
      const server = createServer((socket) => socket.destroy());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      try {
        await fails(sshd.target({ port }), { reason: "Unreachable", type: TransientError });
      } finally {
        server.close();
      }
    });

    it("is given up when the caller aborts", async () => {
      const port = await startSilentServer(shop);
      const abort = new AbortController();
      const dial = connectSsh(sshd.target({ port }), shop.env(), { signal: abort.signal });
      abort.abort(new Error("changed my mind"));
      await assert.rejects(dial, /changed my mind/);
    });
  });
});
