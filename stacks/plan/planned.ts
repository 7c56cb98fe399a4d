import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import type { ProviderEntry } from "../config/provider";

/** What a machine is built from, by the kind of its backend. */
export type PlannedMachine = { type: ProviderEntry["type"] } & KvmMachineInputs;

/** Everything about one proxy that is known before anything is built. */
export interface PlannedProxy {
  /** The physical name: `<stack>-<pool>-<member>`. */
  name: string;
  pool: string;
  member: string;
  /** The provider entry. */
  provider: string;
  /** The host's name. */
  host: string;
  port: number;
  maxLeases: number;
  labels: Readonly<Record<string, string>>;
  machine: PlannedMachine;
  /** The check without what only the running machine can tell. */
  check: Omit<ProxyCheckInputs, "host" | "generation">;
}

export interface PlannedPool {
  name: string;
  proxies: PlannedProxy[];
}
