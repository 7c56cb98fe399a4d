import {
  ErrorCode,
  type LibvirtClient,
  type StoragePool,
  type StorageVol,
  StorageVolGetInfo,
} from "../libvirt";
import type { Clock } from "../machine/retry";
import { hasCode, type PublishHost, poolInactive, unlessMissing } from "./publish-host";

/** A volume by name: the daemon needs no more (see StorageVol). */
export function volumeNamed(pool: string, name: string): StorageVol {
  return { pool, name, key: "" };
}

/** An empty raw volume: it grows with what is written, so its physical size tells how much arrived. */
function uploadTarget(name: string): string {
  return `<volume type="file">
  <name>${name}</name>
  <capacity unit="bytes">0</capacity>
  <allocation unit="bytes">0</allocation>
  <target><format type="raw"/></target>
</volume>
`;
}

/**
 * Creates a volume that must not exist yet: the pool's test-and-set. Undefined
 * where it exists. A file of that name which libvirt does not know (code 55, as
 * for an inactive pool) becomes known by a refresh.
 */
export async function createExclusively(
  host: PublishHost,
  client: LibvirtClient,
  pool: StoragePool,
  name: string,
  clock: Clock,
): Promise<StorageVol | undefined> {
  for (let refreshed = false; ; refreshed = true) {
    try {
      return await client.storageVolCreateXML(pool, uploadTarget(name));
    } catch (error) {
      if (hasCode(error, ErrorCode.STORAGE_VOL_EXIST)) return undefined;
      if (!hasCode(error, ErrorCode.OPERATION_INVALID)) throw error;
      if (!(await client.storagePoolIsActive(pool))) throw poolInactive(host);
      if (refreshed) throw error;
      await refreshPool(client, pool, clock);
    }
  }
}

/** The daemon refuses (code 1) while it works on the pool itself, as it does after each upload. */
export async function refreshPool(client: LibvirtClient, pool: StoragePool, clock: Clock): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.storagePoolRefresh(pool, { timeoutMs: 120_000 });
    } catch (error) {
      if (!hasCode(error, ErrorCode.INTERNAL_ERROR) || attempt === 10) throw error;
      await clock.sleep(1000);
    }
  }
}

/** Bytes really in the volume; undefined where it does not exist. */
export async function physicalSize(client: LibvirtClient, volume: StorageVol): Promise<number | undefined> {
  const info = await unlessMissing(client.storageVolGetInfoFlags(volume, StorageVolGetInfo.GET_PHYSICAL));
  return info === undefined ? undefined : Number(info.allocation);
}

export async function deleteVolume(client: LibvirtClient, volume: StorageVol): Promise<void> {
  await unlessMissing(client.storageVolDelete(volume, 0, { timeoutMs: 120_000 }));
}

/** The format that libvirt takes the volume for. */
export async function reportedFormat(client: LibvirtClient, volume: StorageVol): Promise<string | undefined> {
  const xml = await client.storageVolGetXMLDesc(volume);
  return /<target>[\s\S]*?<format type=['"]([^'"]+)['"]/.exec(xml)?.[1];
}

/** The content of a small volume, cut after `limit` bytes; undefined where it does not exist. */
export async function readSmallVolume(
  client: LibvirtClient,
  volume: StorageVol,
  limit: number,
): Promise<Buffer | undefined> {
  const read = async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of client.storageVolDownload(volume, { length: BigInt(limit) }))
      chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  return unlessMissing(read());
}
