import assert from "node:assert/strict";
import { execFileSync, fork } from "node:child_process";
import { readdir, readFile, truncate, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { listCache, pruneCache } from "@egress-proxies/providers/images/cache";
import { openImage } from "@egress-proxies/providers/images/open";
import { LyingServer, rawDisk, sha256, withDirectory } from "./lying-server";

const MIB = 1024 * 1024;

/** Serves `/<seed>`: a raw disk of one mebibyte made from that seed. */
async function withDisks<T>(work: (server: LyingServer, cacheDir: string) => Promise<T>): Promise<T> {
  const server = await LyingServer.start((request, response) =>
    response.end(rawDisk(MIB, Number(basename(request.url ?? "")))),
  );
  try {
    return await withDirectory((dir) => work(server, dir));
  } finally {
    await server.stop();
  }
}

function disk(server: LyingServer, seed: number) {
  return { key: `disk-${seed}`, url: `${server.origin}/${seed}`, sha256: sha256(rawDisk(MIB, seed)) };
}

/** Opens images in a process of their own, which is gone when this returns. */
async function openElsewhere(refs: object[], options: object): Promise<void> {
  const child = fork(join(__dirname, "open-child.js"), [JSON.stringify({ refs, options })]);
  const status = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(status, 0);
}

describe("image cache", () => {
  it("fetches an image once, however many ask and however often", () =>
    withDisks(async (server, cacheDir) => {
      const ref = disk(server, 1);
      const images = await Promise.all([1, 2, 3].map(() => openImage(ref, { cacheDir })));
      images.push(await openImage({ ...ref, url: `${server.origin}/mirror/1` }, { cacheDir }));
      assert.equal(server.seen.length, 1);
      assert.equal(new Set(images.map(({ path }) => path)).size, 1);
    }));

  it("is shared by processes, without leftovers", () =>
    withDisks(async (server, cacheDir) => {
      await Promise.all([1, 2].map(() => openElsewhere([disk(server, 1)], { cacheDir })));
      const before = server.seen.length;
      await openImage(disk(server, 1), { cacheDir });
      assert.equal(server.seen.length, before);
      assert.equal((await listCache({ cacheDir })).length, 1);
      assert.deepEqual(await readdir(join(cacheDir, "partial")), []);
    }));

  it("drops the image used longest ago, and never one in use", () =>
    withDisks(async (server, cacheDir) => {
      const held = await openImage(disk(server, 1), { cacheDir });
      await openElsewhere([disk(server, 2)], { cacheDir });
      await openElsewhere([disk(server, 3)], { cacheDir });
      await openElsewhere([disk(server, 2)], { cacheDir });
      const removed = await pruneCache({ cacheDir, maxCacheBytes: 2 * MIB });
      assert.deepEqual(
        removed.map(({ sha256 }) => sha256),
        [disk(server, 3).sha256],
      );
      await pruneCache({ cacheDir, maxCacheBytes: 0 });
      assert.deepEqual(
        (await listCache({ cacheDir })).map(({ sha256, inUse }) => ({ sha256, inUse })),
        [{ sha256: held.sha256, inUse: true }],
      );
      assert.equal(sha256(await readFile(held.path)), held.sha256);
    })).timeout(30_000);

  it("says what a pruning would take away, and takes away nothing, not even a download to go on with", () =>
    withDisks(async (server, cacheDir) => {
      await openElsewhere([disk(server, 1), disk(server, 2)], { cacheDir });
      const part = join(cacheDir, "partial", `${"0".repeat(64)}.gone.part`);
      await writeFile(part, "half");
      await utimes(part, 0, 0);
      const limits = { cacheDir, maxCacheBytes: 0 };
      const would = await pruneCache({ ...limits, dryRun: true });
      assert.deepEqual(
        would.map(({ sha256 }) => sha256).sort(),
        [1, 2].map((seed) => disk(server, seed).sha256).sort(),
      );
      assert.equal((await listCache({ cacheDir })).length, 2);
      assert.deepEqual(await readdir(join(cacheDir, "partial")), [basename(part)]);
      assert.deepEqual(await pruneCache(limits), would);
      assert.deepEqual(await listCache({ cacheDir }), []);
      assert.deepEqual(await readdir(join(cacheDir, "partial")), []);
    }));

  it("fetches again what was cut short on this machine's disk", () =>
    withDisks(async (server, cacheDir) => {
      await openElsewhere([disk(server, 1)], { cacheDir });
      const [entry] = await listCache({ cacheDir });
      await truncate(entry!.path, 1000);
      const image = await openImage(disk(server, 1), { cacheDir });
      assert.equal(sha256(await readFile(image.path)), image.sha256);
    }));

  it("refuses an image larger than the machine's disk, and says what would do", () =>
    withDisks((server, cacheDir) =>
      assert.rejects(openImage(disk(server, 1), { cacheDir, maxVirtualSize: MIB - 1 }), {
        reason: "ImageTooLarge",
        remedy: "Set diskGiB to 1 or more.",
      }),
    ));
});

describe("local image", () => {
  it("is used where it lies if it is not packed", () =>
    withDirectory(async (dir) => {
      const bytes = rawDisk(MIB);
      await writeFile(join(dir, "disk.raw"), bytes);
      await writeFile(join(dir, "SHA256SUMS"), `${sha256(bytes)}  disk.raw\n`);
      const cacheDir = join(dir, "cache");
      for (const url of ["disk.raw", `file://${dir}/disk.raw`]) {
        const image = await openImage({ key: "k", url, sha256: "SHA256SUMS" }, { root: dir, cacheDir });
        assert.equal(image.path, join(dir, "disk.raw"));
      }
      assert.deepEqual(await listCache({ cacheDir }), []);
    }));

  const packers: Record<string, (bytes: Buffer) => Buffer> = {
    gz: gzipSync,
    xz: (bytes) => execFileSync("xz", ["-1", "-c"], { input: bytes, maxBuffer: 8 * MIB }),
    bz2: (bytes) => execFileSync("bzip2", ["-c"], { input: bytes, maxBuffer: 8 * MIB }),
    zst: (bytes) => execFileSync("zstd", ["-q", "-c"], { input: bytes, maxBuffer: 8 * MIB }),
  };
  for (const [suffix, pack] of Object.entries(packers)) {
    it(`is unpacked from ${suffix}, under any name`, () =>
      withDirectory(async (dir) => {
        const packed = pack(rawDisk(MIB));
        await writeFile(join(dir, "disk"), packed);
        const image = await openImage(
          { key: "k", url: join(dir, "disk"), sha256: sha256(packed) },
          { cacheDir: join(dir, "cache") },
        );
        assert.equal(sha256(await readFile(image.path)), sha256(rawDisk(MIB)));
      }));

    it(`is refused when its ${suffix} is cut short`, () =>
      withDirectory(async (dir) => {
        const packed = pack(rawDisk(MIB)).subarray(0, 500_000);
        await writeFile(join(dir, "disk"), packed);
        const cacheDir = join(dir, "cache");
        await assert.rejects(
          openImage({ key: "k", url: join(dir, "disk"), sha256: sha256(packed) }, { cacheDir }),
          {
            reason: "CorruptImage",
          },
        );
        assert.deepEqual(await readdir(join(cacheDir, "partial")), []);
      }));
  }

  it("is refused where the tool to unpack it is missing, with the package's name", () =>
    withDirectory(async (dir) => {
      const packed = packers.xz!(rawDisk(MIB));
      await writeFile(join(dir, "disk.xz"), packed);
      const path = process.env.PATH;
      try {
        process.env.PATH = dir;
        await assert.rejects(
          openImage({ key: "k", url: join(dir, "disk.xz"), sha256: sha256(packed) }, { cacheDir: dir }),
          (error: Error & { reason: string }) =>
            error.reason === "ToolMissing" && error.message.includes("xz-utils"),
        );
      } finally {
        process.env.PATH = path;
      }
    }));

  it("is refused when it is missing, or another than the digest says", () =>
    withDirectory(async (dir) => {
      const options = { cacheDir: join(dir, "cache"), root: dir };
      const sum = "0".repeat(64);
      await assert.rejects(openImage({ key: "k", url: "none.raw", sha256: sum }, options), {
        reason: "ImageMissing",
      });
      await writeFile(join(dir, "disk.raw"), rawDisk(MIB));
      await assert.rejects(openImage({ key: "k", url: "disk.raw", sha256: sum }, options), {
        reason: "ChecksumMismatch",
      });
      await assert.rejects(openImage({ key: "k", url: "disk.raw", sha256: sum.slice(1) }, options), {
        reason: "InvalidDigest",
      });
    }));
});
