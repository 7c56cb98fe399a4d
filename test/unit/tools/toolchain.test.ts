import assert from "node:assert/strict";
import { cacheFolder } from "../../../tools/common/paths";
import { demoEnvironment, pulumiEnvironment } from "../../../tools/pulumi/environment";
import { downloadUrl, PULUMI_VERSION, parseVersion } from "../../../tools/pulumi/version";

describe("tools: the Pulumi CLI", () => {
  it("reads the version from what pulumi version prints", () => {
    assert.equal(parseVersion("v3.248.0\n"), "3.248.0");
    assert.equal(parseVersion("3.248.0"), "3.248.0");
    assert.equal(parseVersion("warning: a new version is available\nv3.260.0-alpha.1\n"), "3.260.0-alpha.1");
    assert.equal(parseVersion("command not found"), undefined);
    assert.equal(parseVersion(""), undefined);
  });

  it("wants the CLI of the installed SDK's version", () => {
    assert.match(PULUMI_VERSION, /^3\.\d+\.\d+$/);
  });

  it("knows the official download where there is one", () => {
    assert.equal(
      downloadUrl("3.248.0", "linux", "x64"),
      "https://get.pulumi.com/releases/sdk/pulumi-v3.248.0-linux-x64.tar.gz",
    );
    assert.equal(downloadUrl("3.248.0", "linux", "riscv64"), undefined);
    assert.equal(downloadUrl("3.248.0", "darwin", "x64"), undefined);
  });

  it("keeps the cache where the environment says", () => {
    assert.equal(cacheFolder({ EGRESS_CACHE: "/a", XDG_CACHE_HOME: "/b" }), "/a");
    assert.equal(cacheFolder({ XDG_CACHE_HOME: "/b" }), "/b/egress-proxies");
    assert.match(cacheFolder({}), /\.cache\/egress-proxies$/);
  });
});

describe("tools: the environment of the Pulumi CLI", () => {
  const folders = { bin: "/checkout/dist/bin", demo: "/checkout/.lab" };

  it("puts our executables first and uses the demo's backend", () => {
    const env = pulumiEnvironment({ PATH: "/usr/bin", HOME: "/home/me" }, folders);
    assert.equal(env.PATH, "/checkout/dist/bin:/usr/bin");
    assert.equal(env.PULUMI_BACKEND_URL, "file:///checkout/.lab/state");
    assert.equal(env.PULUMI_HOME, "/checkout/.lab/pulumi-home");
    assert.equal(env.PULUMI_CONFIG_PASSPHRASE, "demo");
    assert.equal(env.HOME, "/home/me");
  });

  it("gives the demo its own backend and passphrase, whatever the shell has for other stacks", () => {
    const env = demoEnvironment({
      HOME: "/home/me",
      PULUMI_BACKEND_URL: "s3://states",
      PULUMI_HOME: "/elsewhere",
      PULUMI_CONFIG_PASSPHRASE: "mine",
    });
    assert.match(env.PULUMI_BACKEND_URL ?? "", /^file:.*\/\.lab\/state$/);
    assert.match(env.PULUMI_HOME ?? "", /\/\.lab\//);
    assert.equal(env.PULUMI_CONFIG_PASSPHRASE, "demo");
    assert.equal(env.HOME, "/home/me");
  });

  it("never gives the demo's passphrase to another backend, and keeps one's own", () => {
    const other = pulumiEnvironment({ PULUMI_BACKEND_URL: "s3://states" }, folders);
    assert.equal(other.PULUMI_BACKEND_URL, "s3://states");
    assert.equal(other.PULUMI_CONFIG_PASSPHRASE, undefined);
    assert.equal(other.PULUMI_HOME, undefined);
    const own = pulumiEnvironment({ PULUMI_CONFIG_PASSPHRASE: "mine" }, folders);
    assert.equal(own.PULUMI_CONFIG_PASSPHRASE, "mine");
    const file = pulumiEnvironment({ PULUMI_CONFIG_PASSPHRASE_FILE: "/secret" }, folders);
    assert.equal(file.PULUMI_CONFIG_PASSPHRASE, undefined);
  });
});
