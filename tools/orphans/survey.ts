import { onHost } from "@egress-proxies/providers/kvm/faults";
import { type Inventory, takeInventory } from "@egress-proxies/providers/kvm/inventory";
import {
  type Known,
  type Orphan,
  type SelectOptions,
  selectOrphans,
} from "@egress-proxies/providers/kvm/orphans";
import { removeMachine } from "@egress-proxies/providers/kvm/remove";
import { type Dial, HostSession } from "@egress-proxies/providers/kvm/session";
import { deleteVolume } from "@egress-proxies/providers/kvm/volumes";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import type { FleetHost } from "../fleet/hosts";

/** An orphan and where it lies. */
export type Placed = Orphan & { host: KvmHost };

export interface Survey {
  orphans: Placed[];
  /** Domains that could not be read, by host; what they may use is kept. */
  skipped: { host: string; domain: string }[];
  /** Hosts that could not be looked at, and why. */
  failed: { host: string; error: Error }[];
}

/**
 * Looks at every host, then at the stacks. In this order, because Pulumi writes
 * down a creation before it begins: what a run makes meanwhile is in a stack by then.
 *
 * @throws what `known` throws: without all stacks nothing is an orphan
 */
export async function survey(
  hosts: readonly FleetHost[],
  dial: Dial,
  known: () => Promise<Known>,
  options: SelectOptions,
): Promise<Survey> {
  const places = distinct(hosts);
  const looks = await Promise.allSettled(
    places.map((host) => withSession(host, dial, async (session) => takeInventory(await session.calls()))),
  );
  const stacks = await known();
  const result: Survey = { orphans: [], skipped: [], failed: [] };
  for (const [index, look] of looks.entries()) {
    const host = places[index]!;
    if (look.status === "rejected") {
      const { reason } = look;
      result.failed.push({
        host: host.name,
        error: reason instanceof Error ? reason : new Error(String(reason)),
      });
      continue;
    }
    const inventory: Inventory = look.value;
    result.skipped.push(...inventory.unreadable.map((domain) => ({ host: host.name, domain })));
    result.orphans.push(...selectOrphans(inventory, stacks, options).map((orphan) => ({ ...orphan, host })));
  }
  return result;
}

/** Deletes one orphan. A machine's owner record is read again before anything of it is touched. */
export async function removeOrphan(orphan: Placed, dial: Dial): Promise<void> {
  const { volumes, owner, kind } = orphan;
  const host = { ...orphan.host, pool: volumes[0]?.pool ?? orphan.host.pool };
  await withSession(host, dial, async (session) => {
    if (kind === "machine" && owner !== undefined) return removeMachine(session, owner);
    const client = await session.calls();
    for (const { pool, name } of volumes) await deleteVolume(client, { pool, name, key: "" });
  });
}

async function withSession<T>(
  host: KvmHost,
  dial: Dial,
  work: (session: HostSession) => Promise<T>,
): Promise<T> {
  const session = new HostSession(host, dial, systemClock);
  try {
    return await onHost(host, () => work(session));
  } finally {
    await session.close();
  }
}

/** One look at each machine, though several entries may name it. */
function distinct(hosts: readonly FleetHost[]): KvmHost[] {
  const byWay = new Map<string, KvmHost>();
  for (const { host } of hosts) {
    const way = JSON.stringify([host.address, host.port, host.user, host.configFile, host.socket]);
    if (!byWay.has(way)) byWay.set(way, host);
  }
  return [...byWay.values()];
}
