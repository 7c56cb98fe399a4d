import { machineMac, machineUuid, type Owner } from "../machine/owner";
import type { KvmHost, KvmMachineInputs, MachineOutputs } from "../machine/spec";
import { type MachineSpec, machineSpec } from "../machine/spec-hash";

/** A machine's state: enough to find, read, compare and delete it; nothing large, nothing secret. */
export interface KvmMachineOutputs extends MachineOutputs {
  owner: Owner;
  /** How it was reached last; a machine can be deleted after its host has left the config. */
  host: KvmHost;
  spec: MachineSpec;
}

export function outputsOf(
  inputs: KvmMachineInputs,
  found: { ip: string; generation: string },
): KvmMachineOutputs {
  return {
    owner: inputs.owner,
    host: inputs.host,
    spec: machineSpec(inputs),
    uuid: machineUuid(inputs.owner),
    mac: machineMac(inputs.owner),
    ...found,
  };
}
