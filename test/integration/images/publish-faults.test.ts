import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseMarker } from "@egress-proxies/providers/images/marker";
import { markerName } from "@egress-proxies/providers/images/naming";
import type { PublishedBase } from "@egress-proxies/providers/images/observe";
import { ensureBase } from "@egress-proxies/providers/images/publish";
import { TransientError } from "@egress-proxies/providers/machine/errors";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import { randomFrom } from "../../random";
import { LabHost, labSocket, newNaming } from "./lab-host";
import { rawDisk, sha256 } from "./lying-server";

const DISK = rawDisk(3 * 1024 * 1024, 3);
const LARGE = rawDisk(32 * 1024 * 1024, 4);
/** Pauses between passes of a broken upload need not be waited for in full. */
const hasty = { now: systemClock.now, sleep: (ms: number) => systemClock.sleep(Math.min(ms, 100)) };
const quick = { markerWaitMs: 1500, settleMs: 300, deadAfterMs: 1000 };

const seed = Number(process.env.EGRESS_TEST_SEED ?? randomInt(2 ** 31));

/** Whole numbers from 0 up to `below`, the same for the same seed. */
function randomNumbers(): (below: number) => number {
  const random = randomFrom(seed);
  return (below) => Math.floor(random() * below);
}

describe(`base image publication under faults (EGRESS_TEST_SEED=${seed})`, function () {
  this.timeout(120_000);
  let dir: string;
  let naming: ReturnType<typeof newNaming>;
  let random: ReturnType<typeof randomNumbers>;
  const hosts: LabHost[] = [];

  before(async () => {
    labSocket();
    dir = await mkdtemp(join(tmpdir(), "egress-faults-"));
    await writeFile(join(dir, "disk.raw"), DISK);
    await writeFile(join(dir, "large.raw"), LARGE);
    random = randomNumbers();
  });
  beforeEach(() => {
    naming = newNaming();
  });
  afterEach(async () => {
    await another().clear(`base-${naming.key}`);
    await Promise.all(hosts.splice(0).map((host) => host.close()));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  function another(): LabHost {
    const host = new LabHost();
    hosts.push(host);
    return host;
  }

  function small() {
    return { key: naming.key, url: join(dir, "disk.raw"), sha256: sha256(DISK) };
  }

  function large() {
    return { key: naming.key, url: join(dir, "large.raw"), sha256: sha256(LARGE) };
  }

  function child(ref = large()): ChildProcess {
    const job = { naming, ref, options: { ...quick, cacheDir: join(dir, "cache") } };
    return fork(join(__dirname, "publish-child.js"), [JSON.stringify(job)]);
  }

  async function baseOf(publisher: ChildProcess): Promise<PublishedBase> {
    for (;;) {
      const [message] = await Promise.race([
        once(publisher, "message"),
        once(publisher, "exit").then(([status]) => assert.fail(`the publisher ended with status ${status}`)),
      ]);
      if (message.base !== undefined) return message.base;
    }
  }

  async function assertPublishedAlone(base: PublishedBase, bytes: Buffer, round = ""): Promise<void> {
    const host = another();
    const marker = parseMarker(await host.read(markerName(naming)));
    assert.equal(marker?.volume, base.volume.name, round);
    assert.equal(sha256(await host.read(base.volume.name)), sha256(bytes), round);
    const all = await host.volumes(`base-${naming.key}`);
    assert.deepEqual(all.sort(), [base.volume.name, markerName(naming)].sort(), round);
  }

  it("heals after the connection was cut anywhere", async () => {
    const whole = another();
    whole.cutAfter = 2 ** 40;
    await ensureBase(whole, naming, small(), quick);
    const total = whole.sent;
    await whole.close();
    for (let round = 0; round < 16; round++) {
      await another().clear(`base-${naming.key}`);
      // Every other cut among the last bytes, where the marker is written.
      const cutAfter = round % 2 === 0 ? random(total) : total - random(8192);
      const what = `round ${round}, cut after ${cutAfter} of ${total} bytes`;
      const cut = another();
      cut.cutAfter = cutAfter;
      await ensureBase(cut, naming, small(), { ...quick, clock: hasty }).catch((error) => {
        assert.ok(error instanceof TransientError, `${what}: ${error.stack}`);
      });
      await assertPublishedAlone(await ensureBase(another(), naming, small(), quick), DISK, what);
    }
  });

  it("goes on behind the last byte that was read back, in the same volume, when the line breaks", async () => {
    const host = another();
    host.heals = true;
    host.cutAfter = LARGE.length / 2 + random(LARGE.length / 4);
    const base = await ensureBase(host, naming, large(), { ...quick, clock: hasty });
    await assertPublishedAlone(base, LARGE);
    const uploads = host.records.filter(
      ({ rpc, identifiers }) => rpc === "virStorageVolUpload" && identifiers.volume === base.volume.name,
    );
    assert.equal(uploads.length, 2, "one volume, two passes");
    assert.ok(host.sent < LARGE.length * 1.5, `${host.sent} bytes were sent of ${LARGE.length}`);
  });

  it("heals after a publisher was killed anywhere", async () => {
    for (let round = 0; round < 8; round++) {
      await another().clear(`base-${naming.key}`);
      const publisher = child();
      const ended = once(publisher, "exit");
      await once(publisher, "message");
      const delay = random(700);
      await Promise.race([systemClock.sleep(delay), ended]);
      publisher.kill("SIGKILL");
      await ended;
      const what = `round ${round}, killed after ${delay} ms`;
      await assertPublishedAlone(await ensureBase(another(), naming, large(), quick), LARGE, what);
    }
  });

  it("lets processes race to one base that all of them use", async () => {
    const bases = await Promise.all([1, 2, 3].map(() => baseOf(child())));
    for (const base of bases) assert.deepEqual(base, bases[0]);
    await assertPublishedAlone(bases[0]!, LARGE);
  });

  it("lets processes race to replace a dead marker", async () => {
    await another().write(markerName(naming), Buffer.alloc(0));
    const bases = await Promise.all([1, 2, 3].map(() => baseOf(child())));
    for (const base of bases) assert.deepEqual(base, bases[0]);
    await assertPublishedAlone(bases[0]!, LARGE);
  });
});
