import { ErrorCode, type LibvirtClient, type StorageVol, StorageVolGetInfo } from "../libvirt";
import { TransientError } from "../machine/errors";
import type { KvmHost } from "../machine/spec";
import { hasCode, unlessCode } from "./faults";
import type { HostSession, PoolFacts } from "./session";
import { type OverlaySpec, renderOverlay, renderUploadTarget } from "./volume-xml";
import { parseXml, textAt } from "./xml";

/** The daemon finds a volume by pool and name; no look-up is needed before. */
export function volumeRef(host: KvmHost, name: string): StorageVol {
  return { pool: host.pool, name, key: "" };
}

/** An overlay that no guest has written to is smaller: header and empty tables, about 200 KiB. */
const WRITTEN_BYTES = 1_048_576n;

/**
 * Makes the overlay, or keeps the one of this very name if it hangs on the same
 * base with the same size. The name carries our identity, so one that differs
 * is our own of another time.
 *
 * @param leftBehind whether the machine that wrote to an overlay found here is gone: its disk is then made anew
 */
export async function ensureOverlay(
  session: HostSession,
  spec: OverlaySpec,
  leftBehind: () => Promise<boolean>,
): Promise<void> {
  const [client, facts] = [await session.calls(), await session.pool()];
  const xml = renderOverlay(spec);
  const there = { pool: facts.pool.name, name: spec.name, key: "" };
  await settled(session, there, async () => {
    if ((await createUnlessThere(client, facts, xml)) !== undefined) return;
    // Listed without a file: somebody deleted it behind libvirt's back.
    const listed = await unlessCode(client.storageVolGetXMLDesc(there), ErrorCode.NO_STORAGE_VOL);
    if (listed !== undefined && fits(listed, spec)) {
      const { allocation } = await client.storageVolGetInfoFlags(there, StorageVolGetInfo.GET_PHYSICAL);
      if (allocation < WRITTEN_BYTES || !(await leftBehind())) return;
    }
    await deleteVolume(client, there);
    await client.storageVolCreateXML(facts.pool, xml);
  });
}

function fits(xml: string, { basePath, capacity }: OverlaySpec): boolean {
  const document = parseXml(xml);
  return (
    textAt(document, "backingStore", "path") === basePath && textAt(document, "capacity") === String(capacity)
  );
}

/** Puts `bytes` into the volume of this name; its physical size proves that all arrived. */
export async function ensureSeed(session: HostSession, name: string, bytes: Buffer): Promise<void> {
  const [client, facts] = [await session.calls(), await session.pool()];
  const volume = { pool: facts.pool.name, name, key: "" };
  const xml = renderUploadTarget(name);
  await settled(session, volume, async () => {
    if ((await createUnlessThere(client, facts, xml)) === undefined) {
      // Uploads do not truncate: a longer seed of another time would keep its tail.
      await deleteVolume(client, volume);
      await createUnlessThere(client, facts, xml);
    }
    await client.storageVolUpload(volume, only(bytes));
  });
  const { allocation } = await client.storageVolGetInfoFlags(volume, StorageVolGetInfo.GET_PHYSICAL);
  if (allocation !== BigInt(bytes.length)) {
    throw new TransientError({
      reason: "UploadIncomplete",
      where: `pool ${facts.pool.name}`,
      message: `the volume "${name}" has ${allocation} of ${bytes.length} bytes after its upload`,
      remedy: "Look whether the pool is full, then run again",
    });
  }
}

/** Deletes a volume; one that is not there, or whose pool is not there, counts as deleted. */
export async function deleteVolume(client: LibvirtClient, volume: StorageVol): Promise<void> {
  await unlessCode(client.storageVolDelete(volume), ErrorCode.NO_STORAGE_VOL, ErrorCode.NO_STORAGE_POOL);
}

/** Undefined where a volume of this name exists, in libvirt's list or only as a file that it has not listed yet. */
async function createUnlessThere(
  client: LibvirtClient,
  facts: PoolFacts,
  xml: string,
): Promise<StorageVol | undefined> {
  try {
    return await client.storageVolCreateXML(facts.pool, xml);
  } catch (error) {
    if (hasCode(error, ErrorCode.STORAGE_VOL_EXIST)) return undefined;
    throw error;
  }
}

/**
 * Another process of ours may be making or deleting the same volume at this
 * moment (an orphan of a killed run): the daemon then says that it is not there
 * (50), exists (90), or is busy (55). All of that passes. 55 also says that the
 * pool is not active, which does not.
 */
export async function settled(
  session: HostSession,
  volume: StorageVol,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!hasCode(error, ErrorCode.NO_STORAGE_VOL, ErrorCode.STORAGE_VOL_EXIST, ErrorCode.OPERATION_INVALID))
      throw error;
    if (hasCode(error, ErrorCode.OPERATION_INVALID)) await session.recheck("pool");
    throw new TransientError({
      reason: "VolumeBusy",
      where: `pool ${volume.pool}`,
      message: `another run is at work on the volume "${volume.name}"`,
      remedy: "Wait until it is done, then run again",
      cause: error,
    });
  }
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
