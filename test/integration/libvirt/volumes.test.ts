import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { LibvirtClient } from "@egress-proxies/providers/libvirt/client";
import { ErrorCode, LibvirtClosedError, StreamLengthError } from "@egress-proxies/providers/libvirt/errors";
import { StorageVolGetInfo } from "@egress-proxies/providers/libvirt/flags";
import type { StoragePool, StorageVol } from "@egress-proxies/providers/libvirt/types";
import { code, emptyVolumeXml, openLab, POOL, removeVolumes, uniqueName, until } from "./lab-libvirt";

const MIB = 1_048_576;

/** Bytes that differ from place to place, so that a part in the wrong place shows. */
function pattern(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at);
  return bytes;
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("volumes of a real libvirtd", () => {
  const prefix = uniqueName("volume");
  let client: LibvirtClient;
  let pool: StoragePool;
  let made = 0;

  before(async () => {
    client = await openLab();
    pool = await client.storagePoolLookupByName(POOL);
  });

  after(async () => {
    if (client === undefined) return;
    await removeVolumes(client, pool, prefix);
    await client.close();
  });

  function emptyVolume(): Promise<StorageVol> {
    return client.storageVolCreateXML(pool, emptyVolumeXml(`${prefix}-${made++}.raw`));
  }

  async function physical(volume: StorageVol): Promise<bigint> {
    return (await client.storageVolGetInfoFlags(volume, StorageVolGetInfo.GET_PHYSICAL)).allocation;
  }

  it("are created, found, described and deleted", async () => {
    const volume = await emptyVolume();
    assert.equal(volume.pool, POOL);
    assert.deepEqual(await client.storageVolLookupByName(pool, volume.name), volume);
    assert.equal(await client.storageVolGetPath(volume), volume.key);
    assert.match(await client.storageVolGetXMLDesc(volume), /<format type='raw'\/>/);
    assert.deepEqual(await client.storageVolGetInfo(volume), { type: 0, capacity: 0n, allocation: 0n });
    assert.ok((await client.storagePoolListAllVolumes(pool)).some(({ name }) => name === volume.name));
    await client.storageVolDelete(volume, 0, { timeoutMs: 60_000 });
    await assert.rejects(client.storageVolLookupByName(pool, volume.name), code(ErrorCode.NO_STORAGE_VOL));
    await assert.rejects(client.storageVolDelete(volume), code(ErrorCode.NO_STORAGE_VOL));
    assert.ok(!(await client.storagePoolListAllVolumes(pool)).some(({ name }) => name === volume.name));
  });

  it("are looked up by pool and name alone", async () => {
    const volume = await emptyVolume();
    assert.equal(await client.storageVolGetPath({ ...volume, key: "" }), volume.key);
  });

  it("exist once by name", async () => {
    const { name } = await emptyVolume();
    await assert.rejects(
      client.storageVolCreateXML(pool, emptyVolumeXml(name)),
      code(ErrorCode.STORAGE_VOL_EXIST),
    );
  });

  it("hold what was uploaded, byte for byte, and their PHYSICAL size says how much", async () => {
    const volume = await emptyVolume();
    const bytes = pattern(9 * MIB + 12_345);
    const progress: number[] = [];
    const options = { length: BigInt(bytes.length), onProgress: (sent: number) => progress.push(sent) };
    assert.equal(await client.storageVolUpload(volume, inChunks(bytes, 65_536), options), bytes.length);
    assert.equal(progress.at(-1), bytes.length);
    assert.equal(await physical(volume), BigInt(bytes.length));
    assert.equal(sha256(await collect(client.storageVolDownload(volume))), sha256(bytes));
  });

  it("can be read in part", async () => {
    const volume = await emptyVolume();
    const bytes = pattern(MIB);
    await client.storageVolUpload(volume, inChunks(bytes, MIB));
    const part = await collect(client.storageVolDownload(volume, { offset: 1000n, length: 500_000n }));
    assert.ok(part.equals(bytes.subarray(1000, 501_000)));
  });

  it("keep what an upload wrote before it failed, and take the rest at that offset", async () => {
    const volume = await emptyVolume();
    const bytes = pattern(6 * MIB);
    const failure = new Error("the source broke");
    async function* breaking(): AsyncGenerator<Buffer> {
      yield* inChunks(bytes.subarray(0, 3 * MIB), 65_536);
      throw failure;
    }
    await assert.rejects(client.storageVolUpload(volume, breaking()), (error) => error === failure);
    const have = Number(await physical(volume));
    assert.ok(have > 0 && have <= 3 * MIB, `${have} bytes are there`);
    const rest = bytes.subarray(have);
    await client.storageVolUpload(volume, inChunks(rest, 100_000), { offset: BigInt(have) });
    assert.equal(await physical(volume), BigInt(bytes.length));
    assert.equal(sha256(await collect(client.storageVolDownload(volume))), sha256(bytes));
  });

  it("take no part for the whole: a source that ends early fails the upload", async () => {
    const volume = await emptyVolume();
    await assert.rejects(
      client.storageVolUpload(volume, inChunks(pattern(MIB), 65_536), { length: BigInt(2 * MIB) }),
      StreamLengthError,
    );
  });

  it("can be empty", async () => {
    const volume = await emptyVolume();
    assert.equal(await client.storageVolUpload(volume, inChunks(Buffer.alloc(0), 1)), 0);
    assert.equal(await physical(volume), 0n);
    assert.equal((await collect(client.storageVolDownload(volume))).length, 0);
  });

  it("can be left in the middle of a download, and the connection goes on", async () => {
    const volume = await emptyVolume();
    await client.storageVolUpload(volume, inChunks(pattern(16 * MIB), MIB));
    for (let round = 0; round < 3; round++) {
      for await (const chunk of client.storageVolDownload(volume)) {
        assert.ok(chunk.length > 0);
        break;
      }
    }
    assert.equal(await physical(volume), BigInt(16 * MIB));
  });

  it("come whole through a slow consumer", async () => {
    const volume = await emptyVolume();
    const bytes = pattern(16 * MIB);
    await client.storageVolUpload(volume, inChunks(bytes, MIB));
    const hash = createHash("sha256");
    for await (const chunk of client.storageVolDownload(volume)) {
      hash.update(chunk);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(hash.digest("hex"), sha256(bytes));
  });

  it("can be uploaded and downloaded several at once over one connection, with calls between", async () => {
    const contents = [1, 2, 3].map((times) => pattern(times * 2 * MIB));
    const volumes = await Promise.all(contents.map(() => emptyVolume()));
    const work = volumes.map((volume, at) =>
      client.storageVolUpload(volume, inChunks(contents[at]!, 65_536)),
    );
    assert.equal(await client.storagePoolIsActive(pool), true);
    assert.deepEqual(
      await Promise.all(work),
      contents.map(({ length }) => length),
    );
    const read = await Promise.all(volumes.map((volume) => collect(client.storageVolDownload(volume))));
    assert.deepEqual(read.map(sha256), contents.map(sha256));
  });

  it("are refused where they do not exist, before anything is sent", async () => {
    const missing = { pool: POOL, name: `${prefix}-missing`, key: "" };
    let taken = false;
    async function* source(): AsyncGenerator<Buffer> {
      taken = true;
      yield Buffer.alloc(1);
    }
    await assert.rejects(client.storageVolUpload(missing, source()), code(ErrorCode.NO_STORAGE_VOL));
    assert.equal(taken, false);
    await assert.rejects(collect(client.storageVolDownload(missing)), code(ErrorCode.NO_STORAGE_VOL));
  });

  it("fail an upload whose bytes the host cannot write, with the daemon's error", async () => {
    const volume = await emptyVolume();
    // Beyond the greatest offset that a file can have.
    const offset = 2n ** 63n - 1n;
    await assert.rejects(
      client.storageVolUpload(volume, inChunks(pattern(MIB), 65_536), { offset }),
      (error) => code(ErrorCode.SYSTEM_ERROR)(error) || code(ErrorCode.INTERNAL_ERROR)(error),
    );
    assert.equal(await client.storagePoolIsActive(pool), true);
  });

  it("keep a partial upload whose connection was cut", async () => {
    const volume = await emptyVolume();
    const other = await openLab();
    const bytes = pattern(2 * MIB);
    async function* cutting(): AsyncGenerator<Buffer> {
      yield bytes;
      await until(async () => (await physical(volume)) > 0n);
      void other.close();
      yield bytes;
    }
    await assert.rejects(other.storageVolUpload(volume, cutting()), LibvirtClosedError);
    const have = await physical(volume);
    assert.ok(have > 0n && have <= BigInt(2 * bytes.length));
  });

  it("survive a refresh of their pool", async () => {
    await client.storagePoolRefresh(pool, { timeoutMs: 60_000 });
    assert.equal(await client.storagePoolIsActive(pool), true);
  });
});
