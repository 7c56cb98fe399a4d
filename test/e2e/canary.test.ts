import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

/** A secret in user-data, in a passphrase and in key material shows up nowhere that a person, a log or a state could keep it. */
describe("a canary", function () {
  this.timeout(180_000);
  const CANARY = "canary-7f3a91";
  const directory = mkdtempSync(join(tmpdir(), "egress-canary-"));
  const name = `c${process.pid}`;
  const seen: [string, string][] = [];
  let stack: Stack;
  let watcher: NodeJS.Timeout;

  before(async () => {
    const tiny = join(directory, "tiny.qcow2");
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", tiny, "16M"]);
    const key = join(directory, "encrypted");
    execFileSync("cp", [join(lab.directory, "id_ed25519"), key]);
    execFileSync("ssh-keygen", ["-q", "-p", "-P", "", "-N", `${CANARY}-passphrase`, "-f", key]);
    process.env.EGRESS_CANARY_PASSPHRASE = `${CANARY}-passphrase`;
    stack = new Stack(name);
    process.env.EGRESS_LOG = join(stack.directory, "calls.log");
    process.env.EGRESS_LOG_LEVEL = "trace";
    await stack.init();
    stack.configure({
      providers: {
        lab: lab.entry({ keyFile: key, passphraseEnv: "EGRESS_CANARY_PASSPHRASE" }, { [name]: image(tiny) }),
      },
      pools: {
        crawl: {
          provider: "lab",
          size: 1,
          wait: "started",
          placement: { machineType: "tiny", image: name },
          cloudInit: {},
        },
      },
    });
    await stack.setSecret("egress:pools.crawl.cloudInit.inline", `#cloud-config\n# ${CANARY}-user-data\n`);
    await stack.setSecret("egress:pools.crawl.cloudInit.vendorData", `#!/bin/sh\n# ${CANARY}-vendor\n`);
    // Arguments of every process that runs meanwhile: all users of a machine can read them.
    watcher = setInterval(() => seen.push(["process arguments", commandLines()]), 200);
  });
  after(async () => {
    clearInterval(watcher);
    process.env.EGRESS_CANARY_PASSPHRASE = `${CANARY}-passphrase`;
    await stack.destroy();
    stack.dispose();
    rmSync(directory, { recursive: true, force: true });
    for (const name of ["EGRESS_CANARY_PASSPHRASE", "EGRESS_LOG", "EGRESS_LOG_LEVEL"])
      delete process.env[name];
  });

  const run = async (what: string, ...args: string[]) => {
    const result = await stack.pulumi(...args);
    seen.push([what, result.text]);
    return result;
  };

  it("is in no preview, display, error, state, argument or serialized provider", async () => {
    await run("preview", "preview", "--diff");
    const up = await run("up", "up", "--yes", "--skip-preview", "--logtostderr", "-v=3");
    assert.equal(up.code, 0, up.text);
    const seeds = await lab.on("grep", "-rl", `[c]${CANARY.slice(1)}-user-data`, "/var/lib/libvirt/images");
    assert.match(seeds, new RegExp(`${name}-crawl-1-[0-9a-f]+-seed\\.iso$`), "the guest gets it");
    await run("refresh", "refresh", "--yes", "--skip-preview");
    await run("export", "stack", "export");
    process.env.EGRESS_CANARY_PASSPHRASE = `${CANARY}-wrong`;
    const refused = await run("wrong passphrase", "refresh", "--yes", "--skip-preview");
    assert.notEqual(refused.code, 0, refused.text);
    for (const file of readdirSync(join(stack.directory, ".pulumi"), {
      recursive: true,
      withFileTypes: true,
    })) {
      if (file.isFile()) seen.push([file.name, readFileSync(join(file.parentPath, file.name), "latin1")]);
    }
    const calls = readFileSync(join(stack.directory, "calls.log"), "utf8");
    assert.match(calls, /"rpc":"virStorageVolUpload","host":"lab1"/);
    assert.match(calls, /"sent":"<domain/, "the log holds all that it ever does");
    for (const line of readFileSync(join(directory, "encrypted"), "utf8").split("\n").slice(1, -2))
      assert.ok(!calls.includes(line), "the key is in the log");
    seen.push(["calls.log", calls]);
    const leaks = seen.filter(([, text]) => text.includes(CANARY)).map(([what]) => what);
    assert.deepEqual([...new Set(leaks)], []);
    assert.ok(seen.some(([what]) => what === "process arguments"));
  });
});

function commandLines(): string {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1");
      } catch {
        return ""; // it has ended meanwhile
      }
    })
    .join("\n");
}
