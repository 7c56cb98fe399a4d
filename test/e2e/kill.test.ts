import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../random";
import { image, lab } from "./lab";
import { Stack } from "./stack";

const MOMENTS = 10;
const seed = Number(process.env.EGRESS_TEST_SEED ?? Date.now() % 100_000);

describe(`kill -9 of a whole first up (EGRESS_TEST_SEED=${seed})`, function () {
  this.timeout(120_000);
  const random = randomFrom(seed);
  const directory = mkdtempSync(join(tmpdir(), "egress-kill-"));
  const path = join(directory, "tiny.qcow2");
  let stack: Stack;

  before(() => {
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", path, "16M"]);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));
  afterEach(async () => {
    await stack.pulumi("cancel", "--yes");
    await stack.destroy();
    stack.dispose();
  });

  for (let moment = 1; moment <= MOMENTS; moment++) {
    // A whole up takes about six seconds here; the earliest moments are before any machine, the last after all.
    const wait = Math.round(1_000 + random() * 6_000);
    it(`${wait} ms after its start, and the next up ends well with exactly what was asked for`, async () => {
      const name = `k${process.pid}x${moment}`;
      stack = new Stack(name);
      await stack.init();
      stack.configure({
        providers: { lab: lab.entry({}, { [name]: image(path) }) },
        pools: {
          crawl: {
            provider: "lab",
            size: 3,
            wait: "started",
            placement: { machineType: "tiny", image: name },
            cloudInit: { inline: "#cloud-config\n" },
          },
        },
      });
      const { child, result } = stack.start("up", "--yes", "--skip-preview");
      await Promise.race([sleep(wait), result]);
      child.kill("SIGKILL");
      await result;
      await stack.pulumi("cancel", "--yes");
      const up = await stack.up();
      assert.equal(up.code, 0, up.text);
      const again = await stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
      assert.equal(again.code, 0, again.text);
      const { domains, volumes } = await lab.holds(`${name}-`);
      assert.deepEqual(
        domains,
        ["1", "2", "3"].map((member) => `${name}-crawl-${member}`),
      );
      assert.equal(volumes.length, 6, volumes.join(" "));
      const states = await Promise.all(domains.map((domain) => lab.virsh("domstate", domain)));
      assert.deepEqual(states, ["running", "running", "running"]);
      const bases = (await lab.holds(`base-${name}`)).volumes;
      assert.equal(bases.length, 2, `one base and its marker: ${bases.join(" ")}`);
    });
  }
});
