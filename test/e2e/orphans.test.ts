import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

const COMMAND = resolve(__dirname, "../../tools/orphans/main.js");

interface Found {
  orphans: { kind: string; name: string; host: string; bytes: number; ageMs?: number; keep?: string }[];
  failed: { host: string; message: string }[];
}

/** The command for people, the real CLI, a real daemon behind a real sshd. */
describe("npm run orphans", function () {
  this.timeout(240_000);
  const name = `o${process.pid}`;
  const directory = mkdtempSync(join(tmpdir(), "egress-orphans-"));
  const stack = new Stack(name, `orphans-${process.pid}`);
  let passphrase = "test";
  const images: Record<string, { url: string; sha256: string }> = {};

  const configure = (more: object[] = []) => {
    const entry = lab.entry({}, images);
    stack.configure({
      providers: { lab: { ...entry, hosts: [...entry.hosts, ...more] } },
      pools: {
        crawl: {
          provider: "lab",
          size: 2,
          wait: "started",
          placement: { host: "lab1", machineType: "tiny", image: name },
          cloudInit: { inline: "#cloud-config\n" },
        },
      },
    });
  };
  const orphans = (...args: string[]) =>
    new Promise<{ code: number; out: string; text: string }>((done) => {
      execFile(
        process.execPath,
        [COMMAND, "--stack", name, ...args],
        { cwd: stack.directory, env: { ...stack.environment(), PULUMI_CONFIG_PASSPHRASE: passphrase } },
        (error, stdout, stderr) =>
          done({ code: error === null ? 0 : Number(error.code), out: stdout, text: stdout + stderr }),
      );
    });
  const found = async (...args: string[]) => {
    const { code, out, text } = await orphans("--json", ...args);
    assert.ok(out.startsWith("{"), text);
    const { orphans: all, failed } = JSON.parse(out) as Found;
    return { code, failed, ours: all.filter(({ name: one }) => one.includes(name)) };
  };

  before(async () => {
    const tiny = join(directory, "tiny.qcow2");
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", tiny, "16M"]);
    images[name] = image(tiny);
    await stack.init();
    configure();
    const up = await stack.up();
    assert.equal(up.code, 0, up.text);
  });
  after(async () => {
    configure();
    await stack.up(); // adopts what is left of a failed test, so that it goes with the rest
    const { code, text } = await stack.destroy();
    stack.dispose();
    rmSync(directory, { recursive: true, force: true });
    assert.equal(code, 0, text);
  });

  it("finds none where the stack has all, and needs no passphrase for that", async () => {
    passphrase = "wrong";
    try {
      assert.deepEqual(await found("--grace", "0"), { code: 0, failed: [], ours: [] });
    } finally {
      passphrase = "test";
    }
  });

  it("finds what the stack has let go of, and takes only that away when told to", async () => {
    const exported = JSON.parse(await stack.exported()) as {
      deployment: { resources: { urn: string; type: string }[] };
    };
    const urn = exported.deployment.resources.find(({ urn: one }) => one.endsWith("crawl-1-machine"))?.urn;
    const gone = await stack.pulumi("state", "delete", "--yes", "--target-dependents", urn ?? "");
    assert.equal(gone.code, 0, gone.text);

    const [machine, ...more] = (await found()).ours;
    assert.deepEqual(more, []);
    assert.deepEqual([machine?.kind, machine?.name, machine?.host], ["machine", `${name}-crawl-1`, "lab1"]);
    assert.ok((machine?.bytes ?? 0) > 0);
    assert.match(machine?.keep ?? "", /younger/);
    assert.ok((machine?.ageMs ?? 0) < 240_000);
    const early = await orphans("--delete", "--yes");
    assert.equal(early.code, 0, early.text);
    assert.equal((await lab.holds(`${name}-crawl-`)).domains.length, 2, "the grace protects it");

    const unconfirmed = await orphans("--delete", "--grace", "0");
    assert.equal(unconfirmed.code, 1, unconfirmed.text);
    assert.match(unconfirmed.text, /add --yes/);

    configure([{ name: "dead", address: "127.0.0.1", port: 1, user: "root" }]);
    const partial = await found("--grace", "0");
    assert.deepEqual([partial.code, partial.failed.map(({ host }) => host)], [1, ["dead"]]);
    assert.equal(partial.ours.length, 1, "the others are listed all the same");
    const refused = await orphans("--delete", "--yes", "--grace", "0");
    assert.equal(refused.code, 1, refused.text);
    assert.match(refused.text, /not every host could be looked at, so nothing is deleted/);
    configure();
    assert.equal((await lab.holds(`${name}-crawl-`)).domains.length, 2);

    const deleted = await orphans("--delete", "--yes", "--grace", "0");
    assert.equal(deleted.code, 0, deleted.text);
    const { domains, volumes } = await lab.holds(`${name}-crawl-`);
    assert.deepEqual(domains, [`${name}-crawl-2`]);
    assert.equal(volumes.length, 2, volumes.join());
    assert.deepEqual((await found("--grace", "0")).ours, []);
  });

  it("deletes nothing while a stack of the project cannot be read", async () => {
    const stacks = join(stack.directory, ".pulumi/stacks", stack.project);
    execFileSync("cp", [join(stacks, `${name}.json`), join(stacks, "broken.json")]);
    execFileSync("truncate", ["-s", "100", join(stacks, "broken.json")]);
    try {
      const refused = await orphans("--delete", "--yes", "--grace", "0");
      assert.equal(refused.code, 1, refused.text);
      assert.match(refused.text, /stack /);
      assert.equal((await lab.holds(`${name}-crawl-`)).domains.length, 1);
    } finally {
      rmSync(join(stacks, "broken.json"));
    }
  });
});
