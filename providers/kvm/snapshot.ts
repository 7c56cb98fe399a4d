import { type DhcpLease, DomainStatsType, GetAllDomainStats } from "../libvirt";
import { PermanentError } from "../machine/errors";
import type { HostSession } from "./session";

export interface Snapshot {
  /** virDomainState by UUID, of every domain on the host. */
  states: Map<string, number>;
  /** Empty where the network keeps no leases. */
  leases: DhcpLease[];
}

/** Two calls for a whole host, however many machines it has. */
export async function takeSnapshot(session: HostSession): Promise<Snapshot> {
  const client = await session.calls();
  const [stats, leases] = await Promise.all([
    client.connectGetAllDomainStats(DomainStatsType.STATE, GetAllDomainStats.NOWAIT),
    // A network of the user's own may know no leases, or be gone: machines are there all the same.
    session.leases().catch((error: unknown) => {
      if (error instanceof PermanentError) return [];
      throw error;
    }),
  ]);
  return {
    states: new Map(stats.map(({ domain, params }) => [domain.uuid, Number(params["state.state"])])),
    leases,
  };
}
