import { DomainUndefine, ErrorCode } from "../libvirt";
import { machineUuid, type Owner } from "../machine/owner";
import { unlessCode } from "./faults";
import { overlayName, seedName } from "./names";
import { findByUuid } from "./observe";
import type { HostSession } from "./session";
import { deleteVolume, volumeRef } from "./volumes";

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
  if (own !== undefined) {
    // 55: it does not run. 42: it went away by itself.
    await unlessCode(client.domainDestroyFlags(own.domain), ErrorCode.OPERATION_INVALID, ErrorCode.NO_DOMAIN);
  }
  await deleteVolume(client, volumeRef(host, overlayName(owner)));
  await deleteVolume(client, volumeRef(host, seedName(owner)));
  if (own !== undefined) {
    await unlessCode(client.domainUndefineFlags(own.domain, UNDEFINE), ErrorCode.NO_DOMAIN);
  }
}
