import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Lab } from "../../../tools/lab/lab";

/** Another lab than the one that the other tests use, with networks that no test run picks by itself. */
const NUMBER = 100 + (Number(process.env.EGRESS_LAB_NUMBER ?? 20) % 50);

describe("tools: the lab host", function () {
  this.timeout(60_000);
  let folder: string;
  let lab: Lab;

  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "egress-lab-"));
    lab = new Lab("egress-spare", NUMBER, folder);
  });
  after(async () => {
    await lab.down();
    rmSync(folder, { recursive: true, force: true });
  });

  it("comes up with a pool of the size asked for, stays up when started again, and goes away", async () => {
    await lab.up(64);
    const info = await lab.inside("virsh", "pool-info", "default");
    assert.match(info.stdout, /Capacity:\s+64\.00 MiB/);
    const daemon = readFileSync(path.join(folder, "libvirtd.pid"), "utf8");
    await lab.up();
    assert.equal(readFileSync(path.join(folder, "libvirtd.pid"), "utf8"), daemon);

    await lab.down();
    assert.equal(await lab.isUp(), false);
    assert.ok(!runs(daemon.trim()), "libvirtd has ended");
    assert.ok(!existsSync(`/run/netns/egress-spare-${NUMBER}`));
  });

  it("comes up again after its daemon was killed, and down twice is no error", async () => {
    await lab.up();
    process.kill(Number(readFileSync(path.join(folder, "libvirtd.pid"), "utf8")), "SIGKILL");
    await lab.up();
    assert.equal((await lab.inside("virsh", "-q", "net-info", "default")).status, 0);
    await lab.down();
    await lab.down();
    assert.equal(await lab.isUp(), false);
  });
});

/** A process that has ended may stay in the table for a moment, until its parent has looked. */
function runs(pid: string): boolean {
  const status = `/proc/${pid}/status`;
  return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
}
