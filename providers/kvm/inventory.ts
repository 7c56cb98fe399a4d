import { MAX_MARKER_BYTES, type Marker, parseMarker } from "../images/marker";
import { readSmallVolume } from "../images/volumes";
import {
  type Domain,
  DomainMetadata,
  DomainXml,
  ErrorCode,
  type LibvirtClient,
  LibvirtError,
  ListStoragePools,
  type StorageVol,
} from "../libvirt";
import type { OwnerRecord } from "../machine/owner";
import { unlessCode } from "./faults";
import { METADATA_URI, parseOwnerRecord } from "./metadata";
import { parseXml, textAt } from "./xml";

export interface SeenDomain {
  name: string;
  uuid: string;
  record?: OwnerRecord;
  /** What runs and what is defined, one after the other. */
  xml: string;
}

export interface SeenVolume {
  pool: string;
  name: string;
  /** Bytes on the host's disk. */
  bytes: number;
  /** When it was written last, by the host's clock, in milliseconds since the epoch; undefined where the host does not say. */
  modified?: number;
  xml: string;
}

/** All that lies on a host, as far as it can tell whose it is and who uses it. */
export interface Inventory {
  domains: SeenDomain[];
  /** Domains that libvirt lists and does not describe. */
  unreadable: string[];
  /** Of every active pool. */
  volumes: SeenVolume[];
  /** The markers of base images, by pool and volume name. */
  markers: { pool: string; name: string; marker: Marker }[];
}

/** Calls side by side; the client sends no more than four at a time anyway. */
const SIDE_BY_SIDE = 4;
const MARKER = /^base-.+\.json$/;

/** Looks at everything and changes nothing. What goes away meanwhile is left out. */
export async function takeInventory(client: LibvirtClient): Promise<Inventory> {
  const inventory: Inventory = { domains: [], unreadable: [], volumes: [], markers: [] };
  await sideBySide(await client.connectListAllDomains(), async (domain) => {
    try {
      const seen = await readDomain(client, domain);
      if (seen !== undefined) inventory.domains.push(seen);
    } catch (error) {
      if (!(error instanceof LibvirtError)) throw error;
      inventory.unreadable.push(domain.name);
    }
  });
  for (const pool of await client.connectListAllStoragePools(ListStoragePools.ACTIVE)) {
    const volumes = await unlessCode(client.storagePoolListAllVolumes(pool), ErrorCode.NO_STORAGE_POOL);
    await sideBySide(volumes ?? [], async (volume) => {
      const xml = await unlessCode(client.storageVolGetXMLDesc(volume), ErrorCode.NO_STORAGE_VOL);
      if (xml === undefined) return;
      inventory.volumes.push(seenVolume(volume, xml));
      if (!MARKER.test(volume.name)) return;
      const marker = parseMarker(
        (await readSmallVolume(client, volume, MAX_MARKER_BYTES)) ?? Buffer.alloc(0),
      );
      if (marker !== undefined) inventory.markers.push({ pool: volume.pool, name: volume.name, marker });
    });
  }
  return inventory;
}

async function readDomain(client: LibvirtClient, domain: Domain): Promise<SeenDomain | undefined> {
  try {
    const live = await client.domainGetXMLDesc(domain);
    const defined = await client.domainGetXMLDesc(domain, DomainXml.INACTIVE);
    const metadata = await unlessCode(
      client.domainGetMetadata(domain, DomainMetadata.ELEMENT, METADATA_URI),
      ErrorCode.NO_DOMAIN_METADATA,
    );
    const record = metadata === undefined ? undefined : parseOwnerRecord(metadata);
    const { name, uuid } = domain;
    return { name, uuid, xml: live + defined, ...(record === undefined ? {} : { record }) };
  } catch (error) {
    const there = await unlessCode(client.domainLookupByUUID(domain.uuid), ErrorCode.NO_DOMAIN);
    if (there === undefined) return undefined;
    throw error;
  }
}

function seenVolume({ pool, name }: StorageVol, xml: string): SeenVolume {
  const document = parseXml(xml);
  const modified = Number(textAt(document, "target", "timestamps", "mtime") ?? Number.NaN) * 1000;
  return {
    pool,
    name,
    bytes: Number(textAt(document, "physical") ?? textAt(document, "allocation") ?? 0),
    ...(Number.isFinite(modified) ? { modified } : {}),
    xml,
  };
}

async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}
