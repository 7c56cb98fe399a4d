import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { ConfigError } from "../../stacks/config/error";
import { explain } from "../../stacks/config/explain";
import { providers } from "../../stacks/config/provider";
import { configSchema } from "../../stacks/config/schema";

/** A host of the config, and the entry that it stands in. */
export interface FleetHost {
  entry: string;
  host: KvmHost;
  /** The images that the entry offers. */
  images: string[];
}

/**
 * Every libvirt host of every entry. Only `providers` is looked at: a mistake in
 * a pool is no reason not to look at the hosts.
 *
 * @throws ConfigError
 */
export function fleetOf(raw: unknown): FleetHost[] {
  const parsed = providers.safeParse(raw);
  if (!parsed.success) {
    const whole = { providers: raw };
    throw new ConfigError(
      parsed.error.issues.flatMap((issue) =>
        explain({ ...issue, path: ["providers", ...issue.path] }, configSchema, whole),
      ),
    );
  }
  return Object.entries(parsed.data).flatMap(([entry, { hosts, images }]) =>
    hosts.map(({ zone, maxMachines, ...host }) => ({ entry, host, images: Object.keys(images) })),
  );
}
