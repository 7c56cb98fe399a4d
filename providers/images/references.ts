import { DomainXml, ErrorCode, type LibvirtClient, ListStoragePools } from "../libvirt";
import { hasCode } from "./publish-host";

/** Calls side by side; the client sends no more than four at a time anyway. */
const SIDE_BY_SIDE = 4;

/**
 * Who on the host mentions each of the given volumes: overlays in any active pool
 * and domains. A mention anywhere in the XML counts, so a path, a pool and volume
 * pair and a backing chain are all found; the names are unique by their random part.
 * The daemon itself does not look at this when it deletes.
 */
export async function findReferences(
  client: LibvirtClient,
  names: readonly string[],
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>(names.map((name) => [name, []]));
  const note = (who: string, self: string, xml: string) => {
    for (const [name, referrers] of found) {
      if (name !== self && xml.includes(name)) referrers.push(who);
    }
  };
  for (const pool of await client.connectListAllStoragePools(ListStoragePools.ACTIVE)) {
    await sideBySide(await client.storagePoolListAllVolumes(pool), async (volume) => {
      const xml = await unlessGone(client.storageVolGetXMLDesc(volume), ErrorCode.NO_STORAGE_VOL);
      note(`volume ${volume.name} (pool ${volume.pool})`, volume.name, xml);
    });
  }
  await sideBySide(await client.connectListAllDomains(), async (domain) => {
    // What runs and what is defined can differ.
    const live = await unlessGone(client.domainGetXMLDesc(domain), ErrorCode.NO_DOMAIN);
    const defined = await unlessGone(
      client.domainGetXMLDesc(domain, DomainXml.INACTIVE),
      ErrorCode.NO_DOMAIN,
    );
    note(`domain ${domain.name}`, "", live + defined);
  });
  return found;
}

/** Empty for what was deleted since it was listed. */
async function unlessGone(xml: Promise<string>, code: number): Promise<string> {
  try {
    return await xml;
  } catch (error) {
    if (hasCode(error, code)) return "";
    throw error;
  }
}

async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}
