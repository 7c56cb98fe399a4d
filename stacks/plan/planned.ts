import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import type { ProviderEntry } from "../config/provider";

/** What a machine is built from, by the kind of its backend. */
export type PlannedMachine = { type: ProviderEntry["type"] } & KvmMachineInputs;

interface PlannedCommon {
  /** The physical name: `<stack>-<pool>-<member>`. */
  name: string;
  pool: string;
  member: string;
  /** The provider entry; empty for external endpoints. */
  provider: string;
  /** The host's name; empty for external endpoints. */
  host: string;
  port: number;
  maxLeases: number;
  labels: Readonly<Record<string, string>>;
  /** The check without what only the running machine can tell. */
  check: Omit<ProxyCheckInputs, "host" | "generation">;
}

export interface ManagedProxy extends PlannedCommon {
  mode: "Managed";
  machine: PlannedMachine;
}

export interface ExternalProxy extends PlannedCommon {
  mode: "External";
  /** The host name or address of somebody else's proxy. */
  address: string;
}

/** Everything about one proxy that is known before anything is built. */
export type PlannedProxy = ManagedProxy | ExternalProxy;

export interface PlannedPool {
  name: string;
  /** How many members may be rebuilt at once; 0 where nothing is ever built. */
  maxUnavailable: number;
  proxies: PlannedProxy[];
}
