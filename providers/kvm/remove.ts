import { posix } from "node:path";
import { refreshPool } from "../images/volumes";
import { type Domain, DomainUndefine, ErrorCode, type LibvirtClient } from "../libvirt";
import { machineUuid, type Owner, volumeStem } from "../machine/owner";
import { unlessCode } from "./faults";
import { overlayName, seedName } from "./names";
import { findByUuid } from "./observe";
import type { HostSession } from "./session";
import { deleteVolume, settled, volumeRef } from "./volumes";
import { parseXml } from "./xml";

const UNDEFINE =
  DomainUndefine.MANAGED_SAVE |
  DomainUndefine.SNAPSHOTS_METADATA |
  DomainUndefine.NVRAM |
  DomainUndefine.CHECKPOINTS_METADATA;

/**
 * Takes a machine of ours away: stop, disks, and last the domain with the owner
 * record, so that an interrupted removal still knows what is left. What is gone
 * already is fine; what is not ours throws before anything is touched.
 */
export async function removeMachine(session: HostSession, owner: Owner): Promise<void> {
  const { host } = session;
  const client = await session.calls();
  const own = await findByUuid(client, host.name, owner, machineUuid(owner));
  session.changed();
  const snapshots = own !== undefined && (await hasExternalSnapshots(client, own.domain, owner));
  if (own !== undefined) {
    // 55: it does not run. 42: it went away by itself.
    await unlessCode(client.domainDestroyFlags(own.domain), ErrorCode.OPERATION_INVALID, ErrorCode.NO_DOMAIN);
  }
  for (const name of [overlayName(owner), seedName(owner)]) {
    const volume = volumeRef(host, name);
    await settled(session, volume, () => deleteVolume(client, volume));
  }
  if (snapshots) await deleteSnapshots(session, owner);
  if (own !== undefined) {
    await unlessCode(client.domainUndefineFlags(own.domain, UNDEFINE), ErrorCode.NO_DOMAIN);
  }
}

/**
 * What `virsh snapshot-create --disk-only` makes: the machine's disk is then another
 * file, `<stem>.<snapshot>`, that hangs on the overlay and is nothing without it.
 */
async function hasExternalSnapshots(client: LibvirtClient, domain: Domain, owner: Owner): Promise<boolean> {
  const xml = await unlessCode(client.domainGetXMLDesc(domain), ErrorCode.NO_DOMAIN);
  if (xml === undefined) return false;
  return Array.from(parseXml(xml).getElementsByTagName("source")).some((source) =>
    isSnapshot(owner, posix.basename(source.getAttribute("file") ?? "")),
  );
}

/** libvirt makes these files without telling the pool, so it has to look first. */
async function deleteSnapshots(session: HostSession, owner: Owner): Promise<void> {
  const client = await session.calls();
  const { host, clock } = session;
  const pool = await unlessCode(client.storagePoolLookupByName(host.pool), ErrorCode.NO_STORAGE_POOL);
  if (pool === undefined) return;
  await refreshPool(client, pool, clock);
  for (const volume of await client.storagePoolListAllVolumes(pool)) {
    if (isSnapshot(owner, volume.name)) await deleteVolume(client, volume);
  }
}

function isSnapshot(owner: Owner, volume: string): boolean {
  return volume.startsWith(`${volumeStem(owner)}.`) && volume !== overlayName(owner);
}
