import { type Problem, problem } from "../problem";
import type { PropertyPath } from "../property-path";
import { count, entries, get, items, text } from "../raw";
import { rawMembers, rawPlacement } from "./members";
import type { Rule } from "./rule";

interface Host {
  name: string | undefined;
  zone: string | undefined;
  room: number;
}

interface Demand {
  pool: string;
  path: PropertyPath;
  host: unknown;
  zone: unknown;
}

/**
 * The members must fit into the hosts' `maxMachines`. Hosts lie in zones and
 * zones in the entry, so it is enough to compare, for each host, each zone and
 * the entry, what must run there with what has room there (Hall's theorem for
 * sets that are nested or apart).
 */
export const capacity: Rule = ({ providers, pools }) =>
  entries(providers).flatMap(([entryName, entry]) => {
    const hosts = items(get(entry, "hosts")).map(
      (host): Host => ({
        name: text(host, "name"),
        zone: text(host, "zone"),
        room: count(host, "maxMachines") ?? Number.POSITIVE_INFINITY,
      }),
    );
    const demands = entries(pools)
      .filter(([, pool]) => text(pool, "provider") === entryName)
      .flatMap(([poolName, pool]) =>
        rawMembers(poolName, pool).map((member): Demand => {
          const { host, zone } = rawPlacement(pool, member);
          return { pool: poolName, path: member.path, host, zone };
        }),
      );
    const zoneOf = new Map(hosts.map(({ name, zone }) => [name, zone]));
    const zones = new Set(hosts.flatMap(({ zone }) => zone ?? []));
    return [
      ...hosts.flatMap((host) =>
        overflow(
          `the host ${host.name}`,
          [host],
          demands.filter((demand) => demand.host === host.name),
        ),
      ),
      ...[...zones].flatMap((zone) =>
        overflow(
          `the zone ${zone}`,
          hosts.filter((host) => host.zone === zone),
          demands.filter((demand) => demand.zone === zone || zoneOf.get(String(demand.host)) === zone),
        ),
      ),
      ...overflow(`the entry ${entryName}`, hosts, demands),
    ];
  });

function overflow(place: string, hosts: Host[], demands: Demand[]): Problem[] {
  const room = hosts.reduce((sum, host) => sum + host.room, 0);
  // Without a readable host there is another problem already.
  const first = hosts.length === 0 ? undefined : demands[room];
  if (first === undefined) return [];
  const message = `${demands.length} members have to run on ${place}, which has room for ${room}`;
  return [problem(first.path, message, "Add a host, raise maxMachines, or shrink the pool.")];
}
