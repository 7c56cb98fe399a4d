import assert from "node:assert/strict";
import { PermanentError, TransientError } from "@egress-proxies/providers/machine/errors";
import type { SshTarget } from "@egress-proxies/providers/machine/spec";
import type { SshEnvironment } from "@egress-proxies/providers/ssh/environment";
import { parseProxyJump } from "@egress-proxies/providers/ssh/proxy-jump";
import { resolveRoute } from "@egress-proxies/providers/ssh/route";
import fc from "fast-check";

function env(files: Record<string, string>, variables: Record<string, string> = {}): SshEnvironment {
  return {
    homeDirectory: "/home/me",
    userName: "me",
    variables,
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
      return Buffer.from(text);
    },
    readDirectory: async (path) =>
      Object.keys(files)
        .filter((file) => file.startsWith(`${path}/`))
        .map((file) => file.slice(path.length + 1)),
  };
}
const CONFIG = "/home/me/.ssh/config";
const target = (changes: Partial<SshTarget> = {}): SshTarget => ({ name: "lab", address: "kvm", ...changes });
const route = (config: string, changes?: Partial<SshTarget>, variables?: Record<string, string>) =>
  resolveRoute(target(changes), env({ [CONFIG]: config }, variables));
const last = async (...args: Parameters<typeof route>) => {
  const hop = (await route(...args)).at(-1);
  assert(hop !== undefined);
  return hop;
};

describe("the route to a host", () => {
  it("is the address with OpenSSH's defaults where there is no config", async () => {
    const [hop, ...more] = await resolveRoute(target(), env({}, { SSH_AUTH_SOCK: "/agent" }));
    assert.equal(more.length, 0);
    assert.deepEqual([hop?.host, hop?.port, hop?.user, hop?.where], ["kvm", 22, "me", "host lab (kvm)"]);
    assert.deepEqual(
      hop?.keys.files,
      ["ed25519", "ecdsa", "rsa"].map((type) => `/home/me/.ssh/id_${type}`),
    );
    assert.equal(hop?.keys.agentSocket, "/agent");
    assert.deepEqual(
      hop?.knownHostsFiles.map(({ path }) => path),
      [
        "/home/me/.ssh/known_hosts",
        "/home/me/.ssh/known_hosts2",
        "/etc/ssh/ssh_known_hosts",
        "/etc/ssh/ssh_known_hosts2",
      ],
    );
  });

  it("takes the config's options in any case, the first one that holds", async () => {
    const hop = await last(
      "host kvm\n hostname %h.lan\n PORT 2222\n user root\nHost *\n User nobody\n Port 1\n",
    );
    assert.deepEqual([hop.host, hop.port, hop.user], ["kvm.lan", 2222, "root"]);
    assert.equal(hop.where, "host lab (kvm.lan:2222)");
  });

  it("lets what the target sets win", async () => {
    const config =
      "Host kvm\n Port 1\n User nobody\n IdentityFile ~/other\n UserKnownHostsFile ~/other-hosts\n";
    const hop = await last(config, { port: 22, user: "root", keyFile: "~/key", knownHostsFile: "~/hosts" });
    assert.deepEqual([hop.port, hop.user, hop.keys.only], [22, "root", "/home/me/key"]);
    assert.deepEqual(hop.knownHostsFiles, [{ path: "/home/me/hosts", required: true }]);
  });

  it("expands tokens, ~ and variables in file names", async () => {
    const config =
      "Host kvm\n HostName 10.0.0.1\n Port 23\n User root\n IdentityFile %d/%u-%r-%h-%n-%p-%%\n" +
      ` IdentityFile ~/k\n UserKnownHostsFile \${WHERE}/a /b\n HostKeyAlias web\n`;
    const hop = await last(config, {}, { WHERE: "/etc" });
    assert.deepEqual(hop.keys.files, ["/home/me/me-root-10.0.0.1-kvm-23-%", "/home/me/k"]);
    assert.deepEqual(
      hop.knownHostsFiles.slice(0, 2).map(({ path }) => path),
      ["/etc/a", "/b"],
    );
    assert.equal(hop.hostKeyAlias, "web");
  });

  it("jumps through a chain, each host by its own entry", async () => {
    const hops = await route(
      "Host kvm\n ProxyJump a,root@[fe80::1]:2222,ssh://c\nHost a\n HostName 10.0.0.1\n Port 23\nHost c\n ProxyJump never\n",
    );
    assert.deepEqual(
      hops.map(({ host, port, user }) => `${user}@${host} ${port}`),
      ["me@10.0.0.1 23", "root@fe80::1 2222", "me@c 22", "me@kvm 22"],
    );
  });

  it("follows the jump host's own ProxyJump", async () => {
    const hops = await route("Host kvm\n ProxyJump b\nHost b\n ProxyJump a\nHost a\n ProxyJump none\n");
    assert.deepEqual(
      hops.map(({ host }) => host),
      ["a", "b", "kvm"],
    );
  });

  it("gives a jump host without a key of its own the target's key and known_hosts, but not its user", async () => {
    const config = "Host kvm\n ProxyJump a\nHost a\n";
    const [jump] = await route(config, { user: "root", keyFile: "/key", knownHostsFile: "/hosts" });
    assert.equal(jump?.user, "me");
    assert.equal(jump?.keys.only, undefined);
    assert.deepEqual(jump?.keys.files, ["/key"]);
    assert.deepEqual(
      jump?.knownHostsFiles.map(({ path }) => path),
      ["/hosts"],
    );
  });

  it("reads included files, in order, with their own blocks", async () => {
    const files = {
      [CONFIG]: "Include conf.d/*\nInclude /nowhere\nHost *\n User last\n",
      "/home/me/.ssh/conf.d/2": "Host kvm\n User second\n Port 2\n",
      "/home/me/.ssh/conf.d/1": "Host kvm\n User first\nHost other\n Port 9\n",
      "/home/me/.ssh/conf.d/.hidden": "Port 7\n",
    };
    const [hop] = await resolveRoute(target(), env(files));
    assert.deepEqual([hop?.user, hop?.port], ["first", 2]);
  });

  const invalid: [string, string, RegExp][] = [
    ["a port that is none", "Port 70000\n", /Port 70000/],
    ["a token without meaning", "IdentityFile ~/%z\n", /%z/],
    ["a variable that is not set", `IdentityFile \${NOWHERE}/key\n`, /NOWHERE/],
    ["a jump in a circle", "Host kvm\n ProxyJump a\nHost a\n ProxyJump kvm\n", /circle/],
    ["a jump that is no host", "ProxyJump a:b:c@:1\n", /ProxyJump/],
    ["a ProxyCommand", "ProxyCommand nc %h %p\n", /ProxyCommand/],
    ["an Include of itself", "Include config\n", /circle/],
    ["quotes that do not end", 'IdentityFile "abc\n', /ssh config/],
  ];
  for (const [what, config, message] of invalid) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(route(config), (error: unknown) => {
        assert(error instanceof PermanentError);
        assert.equal(error.reason, "SshConfigInvalid");
        assert.match(error.message, message);
        return true;
      });
    });
  }

  it("needs the config file that the target names", async () => {
    await assert.rejects(resolveRoute(target({ configFile: "/nowhere" }), env({})), (error: unknown) => {
      return error instanceof TransientError && error.message.includes("/nowhere");
    });
  });
});

describe("ProxyJump", () => {
  it("reads back what it is made of", () => {
    const user = fc.option(fc.stringMatching(/^[a-z][a-z@-]{0,9}$/), { nil: undefined });
    const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
    const port = fc.option(fc.integer({ min: 1, max: 65535 }), { nil: undefined });
    const jump = fc.record({ user, host, port }, { noNullPrototype: true });
    fc.assert(
      fc.property(fc.array(jump, { minLength: 1, maxLength: 4 }), fc.boolean(), (jumps, uri) => {
        const text = jumps.map(({ user, host, port }) => {
          const place = host.includes(":") ? `[${host}]` : host;
          return `${uri ? "ssh://" : ""}${user === undefined ? "" : `${user}@`}${place}${port === undefined ? "" : `:${port}`}`;
        });
        assert.deepEqual(parseProxyJump(text.join(",")), jumps);
      }),
    );
  });
});
