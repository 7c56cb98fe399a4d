import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { collectDebris } from "@egress-proxies/providers/images/debris";
import { parseMarker } from "@egress-proxies/providers/images/marker";
import { attemptName, markerName } from "@egress-proxies/providers/images/naming";
import { openImage } from "@egress-proxies/providers/images/open";
import { processToken } from "@egress-proxies/providers/images/process-token";
import { ensureBase } from "@egress-proxies/providers/images/publish";
import type { StorageVol } from "@egress-proxies/providers/libvirt/index";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import { LabHost, labSocket, newNaming } from "./lab-host";
import { LyingServer, rawDisk, sha256 } from "./lying-server";

const MIB = 1024 * 1024;
const quick = { markerWaitMs: 1500, settleMs: 200, deadAfterMs: 1000 };

describe("base image publication", () => {
  let dir: string;
  let disk: Buffer;
  let host: LabHost;
  let naming: ReturnType<typeof newNaming>;
  const hosts: LabHost[] = [];

  before(async () => {
    labSocket();
    dir = await mkdtemp(join(tmpdir(), "egress-publish-"));
    disk = rawDisk(24 * MIB);
    await writeFile(join(dir, "disk.raw"), disk);
    await writeFile(join(dir, "other.raw"), rawDisk(MIB, 7));
  });
  beforeEach(() => {
    host = another();
    naming = newNaming();
  });
  afterEach(async () => {
    const cleaner = another();
    await cleaner.clear(`base-${naming.key}`);
    await Promise.all(hosts.splice(0).map((each) => each.close()));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  function another(pool?: string, name?: string): LabHost {
    const made = new LabHost(pool, name);
    hosts.push(made);
    return made;
  }

  function ref(file = "disk.raw", bytes = disk) {
    return { key: naming.key, url: join(dir, file), sha256: sha256(bytes) };
  }

  function publish(on = host, image = ref(), options = {}) {
    return ensureBase(on, naming, image, { ...quick, cacheDir: join(dir, "cache"), ...options });
  }

  async function append(volume: StorageVol, offset: number, bytes: Buffer): Promise<void> {
    const source = (async function* () {
      yield bytes;
    })();
    await (await another().bulk()).storageVolUpload(volume, source, { offset: BigInt(offset) });
  }

  /** The base is there, whole, and nothing else of it. */
  async function assertPublished(bytes = disk): Promise<void> {
    const marker = parseMarker(await host.read(markerName(naming)));
    assert.ok(marker !== undefined);
    assert.equal(sha256(await host.read(marker.volume)), sha256(bytes));
    assert.deepEqual(
      (await host.volumes(`base-${naming.key}`)).sort(),
      [marker.volume, markerName(naming)].sort(),
    );
  }

  it("publishes the verified bytes, and finds them again with two calls", async () => {
    const base = await publish();
    assert.deepEqual(
      { format: base.format, virtualSize: base.virtualSize, sha256: base.sha256 },
      { format: "raw", virtualSize: disk.length, sha256: sha256(disk) },
    );
    await assertPublished();
    const later = another();
    await (await later.calls()).connectGetHostname();
    later.records.length = 0;
    assert.deepEqual(await publish(later), base);
    assert.deepEqual(
      later.records.map(({ rpc }) => rpc),
      ["virStorageVolDownload", "virStorageVolGetInfoFlags"],
    );
  });

  it("reports a qcow2 as qcow2 to libvirt, with its virtual size, so that overlays can be made", async () => {
    execFileSync("qemu-img", ["convert", "-O", "qcow2", join(dir, "disk.raw"), join(dir, "disk.qcow2")]);
    const bytes = await readFile(join(dir, "disk.qcow2"));
    const base = await publish(host, ref("disk.qcow2", bytes));
    await assertPublished(bytes);
    const client = await host.calls();
    const info = await client.storageVolGetInfo(base.volume);
    assert.equal(Number(info.capacity), base.virtualSize);
    assert.equal(await client.storageVolGetPath(base.volume), base.path);
    const overlay = `<volume><name>base-${naming.key}-overlay</name><capacity>${base.virtualSize}</capacity>
      <target><format type='qcow2'/></target>
      <backingStore><path>${base.path}</path><format type='qcow2'/></backingStore></volume>`;
    await client.storageVolCreateXML(await client.storagePoolLookupByName(host.pool), overlay);
  });

  it("uploads once for all who wait in a process", async () => {
    await Promise.all([1, 2, 3, 4].map(() => publish()));
    assert.equal(host.records.filter(({ rpc }) => rpc === "virStorageVolUpload").length, 2); // data, marker
    await assertPublished();
  });

  for (const what of ["url", "sha256"] as const) {
    it(`refuses another ${what} under the same key before it fetches anything`, async () => {
      await publish();
      host.records.length = 0;
      const wanted = { ...ref(), [what]: what === "url" ? "http://127.0.0.1:9/disk.raw" : "0".repeat(64) };
      await assert.rejects(publish(host, wanted), (error: PermanentError) => {
        assert.ok(error instanceof PermanentError);
        assert.equal(error.reason, "ImageKeyConflict");
        for (const side of [ref(), wanted]) assert.ok(error.message.includes(side[what]), error.message);
        return true;
      });
      assert.ok(host.records.every(({ rpc }) => /Download|GetInfoFlags/.test(rpc)));
      await assertPublished();
    });
  }

  it("refuses two bases whose names only look the same", async () => {
    const half = naming.key;
    const publishAs = (entry: string, key: string) =>
      ensureBase(host, { entry, key }, ref(), { ...quick, cacheDir: join(dir, "cache") });
    await publishAs(half, "b-c");
    await assert.rejects(publishAs(`${half}-b`, "c"), { reason: "BaseNameConflict" });
    await assert.rejects(
      ensureBase(host, { key: `${half}-b-c` }, ref(), { ...quick, cacheDir: join(dir, "cache") }),
      { reason: "BaseNameConflict" },
    );
  });

  for (const content of ["", '{"version":1,"vol', `${JSON.stringify({ version: 1 })}`]) {
    it(`replaces a marker left with ${content === "" ? "no" : "half its"} content: ${content}`, async () => {
      await host.write(markerName(naming), Buffer.from(content));
      await publish();
      await assertPublished();
    });
  }

  it("adopts the base of a publisher that is just writing its marker", async () => {
    const base = await publish();
    const marker = await host.read(markerName(naming));
    await host.remove(markerName(naming));
    const empty = await host.write(markerName(naming), Buffer.alloc(0));
    const slow = another();
    const waiting = publish(slow, ref(), { markerWaitMs: 8000 });
    await until(() => slow.records.some(({ rpc }) => rpc === "virStorageVolDownload"));
    await append(empty, 0, marker);
    assert.deepEqual(await waiting, base);
    await assertPublished();
  });

  it("publishes again what is missing or has another size", async () => {
    const first = await publish();
    await host.remove(first.volume.name);
    const second = await publish();
    assert.notEqual(second.volume.name, first.volume.name);
    await assertPublished();
    await append(second.volume, disk.length, Buffer.from("more"));
    assert.notEqual((await publish()).volume.name, second.volume.name);
    await assertPublished();
  });

  it("does not touch a damaged base that a disk depends on, and says who and what to do", async () => {
    const base = await publish();
    const client = await host.calls();
    const overlay = `base-${naming.key}-overlay`;
    await client.storageVolCreateXML(
      await client.storagePoolLookupByName(host.pool),
      `<volume><name>${overlay}</name><capacity>${disk.length}</capacity><target><format type='qcow2'/></target>
       <backingStore><path>${base.path}</path><format type='raw'/></backingStore></volume>`,
    );
    await append(base.volume, disk.length, Buffer.from("more"));
    await assert.rejects(publish(), (error: PermanentError) => {
      assert.equal(error.reason, "BaseDamaged");
      assert.ok(error.message.includes(overlay), error.message);
      return true;
    });
    assert.ok((await host.volumes(base.volume.name)).length === 1);
    assert.ok((await host.volumes(markerName(naming))).length === 1);
  });

  for (const state of ["no", "an invalid"]) {
    it(`does not fetch a base anew that has ${state} marker while a disk depends on it`, async () => {
      const base = await publish();
      const client = await host.calls();
      const overlay = await client.storageVolCreateXML(
        await client.storagePoolLookupByName(host.pool),
        `<volume><name>base-${naming.key}-overlay</name><capacity>${disk.length}</capacity>
         <target><format type='qcow2'/></target>
         <backingStore><path>${base.path}</path><format type='raw'/></backingStore></volume>`,
      );
      await host.remove(markerName(naming));
      if (state !== "no") await host.write(markerName(naming), Buffer.from("{}"));
      const before = (await host.volumes(`base-${naming.key}`)).sort();
      await assert.rejects(publish(), (error: PermanentError) => {
        assert.equal(error.reason, "BaseUnmarked");
        for (const part of [base.volume.name, overlay.name, "new key"])
          assert.ok(error.message.includes(part));
        return true;
      });
      assert.deepEqual((await host.volumes(`base-${naming.key}`)).sort(), before);
      await host.remove(overlay.name);
      assert.notEqual((await publish()).volume.name, base.volume.name);
      await assertPublished();
    });
  }

  it("never publishes a cached image that was damaged on this machine, and fetches it anew", async () => {
    const server = await LyingServer.start((_request, response) => response.end(disk));
    try {
      const remote = { ...ref(), url: `${server.origin}/disk.raw` };
      const cacheDir = join(dir, "damaged");
      const image = await openImage(remote, { cacheDir });
      const file = await open(image.path, "r+");
      await file.write(Buffer.from("flipped"), 0, 7, 20 * MIB);
      await file.close();
      await assert.rejects(publish(host, remote, { cacheDir }), { reason: "ImageChanged" });
      assert.deepEqual(await host.volumes(`base-${naming.key}`), []);
      await publish(host, remote, { cacheDir });
      await assertPublished();
    } finally {
      await server.stop();
    }
  });

  it("stops on a signal and leaves nothing behind", async () => {
    const stop = new AbortController();
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase === "upload") stop.abort(new Error("enough"));
    };
    await assert.rejects(publish(host, ref(), { signal: stop.signal, onProgress }), { message: "enough" });
    assert.deepEqual(await host.volumes(`base-${naming.key}`), []);
  });

  it("refuses a machine's disk that is too small, whether the base is there or not", async () => {
    const maxVirtualSize = disk.length - 1;
    await assert.rejects(publish(host, ref(), { maxVirtualSize }), { reason: "ImageTooLarge" });
    assert.deepEqual(await host.volumes(`base-${naming.key}`), []);
    await publish();
    await assert.rejects(publish(host, ref(), { maxVirtualSize }), { reason: "ImageTooLarge" });
  });

  it("lets two publishers race, and both end with the same base", async () => {
    const [a, b] = await Promise.all([publish(host), publish(another("default", "rival"))]);
    assert.deepEqual(a, b);
    await assertPublished();
  });

  describe("debris", () => {
    const gone = () => `${processToken().split("-")[0]}-fffffff-1`;
    const elsewhere = "0123456789ab-1-1";
    const leave = (token: string, at = host) =>
      at.write(attemptName(naming, token, "00000000", "raw"), rawDisk(512));

    it("is removed at once when its process on this machine is gone", async () => {
      await leave(gone());
      await publish();
      await assertPublished();
    });

    it("of another machine is removed once it stands still", async () => {
      await leave(elsewhere);
      await publish();
      await assertPublished();
    });

    it("of another machine does not hold up a publication that fails", async () => {
      const left = await leave(elsewhere);
      const began = Date.now();
      const missing = { ...ref(), url: join(dir, "no-such-file") };
      await assert.rejects(publish(host, missing, { deadAfterMs: 60_000 }), { reason: "ImageMissing" });
      assert.ok(Date.now() - began < 10_000);
      assert.deepEqual(await host.volumes(left.name), [left.name]);
    });

    it("is kept while it grows, and while anything refers to it", async () => {
      const growing = await leave(elsewhere);
      const used = await leave(gone());
      const client = await host.calls();
      const overlay = `base-${naming.key}-overlay`;
      await client.storageVolCreateXML(
        await client.storagePoolLookupByName(host.pool),
        `<volume><name>${overlay}</name><capacity>${MIB}</capacity><target><format type='qcow2'/></target>
         <backingStore><path>${used.key}</path><format type='raw'/></backingStore></volume>`,
      );
      const collected = collectDebris(host, naming, { clock: systemClock, deadAfterMs: 4000 });
      let done = false;
      const collecting = collected.finally(() => {
        done = true;
      });
      for (let size = 512; !done; size += MIB) {
        await append(growing, size, rawDisk(MIB));
        await systemClock.sleep(100);
      }
      const { removed, kept } = await collecting;
      assert.deepEqual(removed, []);
      assert.deepEqual(kept.map(({ name }) => name).sort(), [growing.name, used.name].sort());
      assert.ok(kept.some(({ because }) => because.includes(overlay)));
    });

    it("of a disk of a defined machine is kept", async () => {
      const used = await leave(gone());
      const client = await host.calls();
      const name = `egress-test-${naming.key}`;
      const domain = await client.domainDefineXML(
        `<domain type='qemu'><name>${name}</name><memory>65536</memory><os><type>hvm</type></os><devices>
         <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${used.key}'/>
         <target dev='vda' bus='virtio'/></disk></devices></domain>`,
      );
      try {
        const { removed, kept } = await collectDebris(host, naming, { clock: systemClock });
        assert.deepEqual(removed, []);
        assert.deepEqual(kept, [{ name: used.name, because: `in use by domain ${name}` }]);
      } finally {
        await client.domainUndefineFlags(domain, 0);
      }
    });

    it("never means another base's volumes", async () => {
      const token = gone();
      const near = await host.write(`base-${naming.key}.x.${token}-00000000.raw`, Buffer.alloc(0));
      await publish();
      assert.deepEqual(await host.volumes(near.name), [near.name]);
    });
  });

  describe("a pool", () => {
    it("that does not exist is named with the way out", async () => {
      await assert.rejects(publish(another("no-such-pool")), { reason: "PoolMissing" });
    });

    it("that is not active is named with the way out", () =>
      withDirectoryPool(async (pool) => {
        virsh("pool-destroy", pool);
        await assert.rejects(publish(another(pool)), { reason: "PoolInactive" });
        virsh("pool-start", pool);
      }));

    it("in which a file lies that libvirt does not know yet is looked at anew", () =>
      withDirectoryPool(async (pool, target) => {
        const there = another(pool);
        await writeFile(join(target, markerName(naming)), "left by a host that lost its power");
        const base = await publish(there);
        assert.deepEqual(
          (await there.volumes("base-")).sort(),
          [base.volume.name, markerName(naming)].sort(),
        );
        assert.equal(sha256(await there.read(base.volume.name)), sha256(disk));
      }));

    it("without room is refused before and during the upload, and left as it was", async () => {
      const file = join(dir, "small.img");
      execFileSync("truncate", ["-s", "40M", file]);
      execFileSync("mkfs.ext4", ["-q", "-F", "-m", "0", "-O", "^has_journal", file]);
      const pool = `full-${naming.key}`;
      const target = await mkdtemp(join(tmpdir(), "egress-pool-"));
      virsh("pool-define-as", pool, "fs", "--source-dev", file, "--target", target);
      try {
        virsh("pool-start", pool);
        const small = another(pool);
        const filler = await small.write("filler", Buffer.alloc(20 * MIB, 1));
        await assert.rejects(publish(small), (error: PermanentError) => {
          assert.equal(error.reason, "PoolFull", error.stack);
          assert.match(
            error.message,
            new RegExp(`needs ${disk.length} bytes, the storage pool has \\d+ left`),
          );
          return true;
        });
        assert.deepEqual(await small.volumes("base-"), []);

        // Room when it is asked for, taken by somebody else when it is used.
        await small.remove(filler.name);
        await (await small.calls()).storagePoolRefresh(
          await (await small.calls()).storagePoolLookupByName(pool),
        );
        const uploading = publish(small);
        await until(() => small.records.some(({ rpc }) => rpc === "virStorageVolCreateXML"));
        const thief = another(pool);
        await thief.write("thief", Buffer.alloc(30 * MIB, 1)).catch(() => undefined);
        await assert.rejects(uploading, { reason: "PoolFull" });
        assert.deepEqual(await small.volumes("base-"), []);
      } finally {
        try {
          virsh("pool-destroy", pool);
        } finally {
          virsh("pool-undefine", pool);
          await rm(target, { recursive: true, force: true });
        }
      }
    });
  });
});

function virsh(...args: string[]): void {
  execFileSync("virsh", ["-q", "-c", `qemu+unix:///system?socket=${labSocket()}`, ...args], {
    stdio: "pipe",
  });
}

/** A pool of one test's own, whose directory the test can reach too. */
async function withDirectoryPool(work: (pool: string, target: string) => Promise<void>): Promise<void> {
  const target = await mkdtemp(join(tmpdir(), "egress-pool-"));
  const pool = basename(target);
  virsh("pool-define-as", pool, "dir", "--target", target);
  try {
    virsh("pool-start", pool);
    await work(pool, target);
  } finally {
    try {
      virsh("pool-destroy", pool);
    } finally {
      virsh("pool-undefine", pool);
      await rm(target, { recursive: true, force: true });
    }
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !condition(); await systemClock.sleep(20)) {
    assert.ok(Date.now() < end, "the condition did not come true within 10 s");
  }
}
