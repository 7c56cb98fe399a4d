import { DomainState, ErrorCode } from "../libvirt";
import { machineMac } from "../machine/owner";
import { leasedAddress } from "./address";
import { unlessCode } from "./faults";
import type { KvmMachineOutputs } from "./outputs";
import type { HostSession } from "./session";

export type Reading =
  | { kind: "absent" }
  | { kind: "running"; ip: string | undefined }
  /** It is there, and something is wrong with it; `problem` says what and what the next `up` does. */
  | { kind: "unwell"; problem: string };

/**
 * What the host says of a machine, from the snapshot that all reads of a run
 * share. That it is gone is only said after a look-up of its own has said so.
 */
export async function readMachine(session: HostSession, outputs: KvmMachineOutputs): Promise<Reading> {
  const { states, leases } = await session.snapshot();
  const state = states.get(outputs.uuid);
  if (state === undefined) {
    const client = await session.calls();
    const found = await unlessCode(client.domainLookupByUUID(outputs.uuid), ErrorCode.NO_DOMAIN);
    if (found === undefined) return { kind: "absent" };
    return judge((await client.domainGetState(found)).state, undefined);
  }
  return judge(state, leasedAddress(leases, machineMac(outputs.owner)));
}

function judge(state: number, ip: string | undefined): Reading {
  switch (state) {
    case DomainState.RUNNING:
    case DomainState.BLOCKED:
      return { kind: "running", ip };
    case DomainState.PAUSED:
      return { kind: "unwell", problem: "is paused; the next `pulumi up` resumes it" };
    case DomainState.PMSUSPENDED:
      return { kind: "unwell", problem: "is suspended by its guest; wake it with `virsh dompmwakeup`" };
    case DomainState.SHUTDOWN:
      return { kind: "unwell", problem: "is shutting down; the next `pulumi up` starts it again" };
    case DomainState.CRASHED:
      return { kind: "unwell", problem: "has crashed; the next `pulumi up` starts it again" };
    default:
      return { kind: "unwell", problem: "is stopped; the next `pulumi up` starts it" };
  }
}
