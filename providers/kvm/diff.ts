import { sameOwner } from "../machine/owner";
import type { KvmHost, KvmMachineInputs } from "../machine/spec";
import { changedProperties, machineSpec } from "../machine/spec-hash";
import type { Diff } from "../pulumi/backend";
import type { KvmMachineOutputs } from "./outputs";

/** Where a machine is. How that host is reached may change without touching the machine. */
const PLACE: readonly (keyof KvmHost)[] = ["name", "pool", "network", "virtType"];

export function diffMachine(olds: KvmMachineOutputs, news: KvmMachineInputs): Diff {
  const replaces = changedProperties(olds.spec, machineSpec(news));
  if (!sameOwner(olds.owner, news.owner)) replaces.push("owner");
  if (PLACE.some((key) => olds.host[key] !== news.host[key])) replaces.push("host");
  return { changes: replaces.length > 0 || !sameFacts(olds.host, news.host), replaces };
}

function sameFacts(a: KvmHost, b: KvmHost): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof KvmHost>;
  return [...keys].every((key) => a[key] === b[key]);
}
