import { PermanentError } from "@egress-proxies/providers/machine/errors";

/** A host as far as placing machines needs to know it. */
export interface PlacementHost {
  name: string;
  zone?: string;
  /** At most this many machines; without it there is no limit. */
  maxMachines?: number;
}

/** A machine that needs a host. */
export interface PlacementDemand {
  /** The physical name. */
  name: string;
  pool: string;
  /** The one host it may run on. */
  host?: string;
  /** The zone whose hosts it may run on. */
  zone?: string;
}

/** Physical name to host name. */
export type Placements = Readonly<Record<string, string>>;

/**
 * Gives each machine a host: where it was before if it may still run there, and
 * else the host with the fewest machines of its pool, then the fewest machines
 * in all, then the first in the config.
 *
 * Those with the least choice go first. A machine leaves the host it had only
 * where another one that has to run there would find no room.
 *
 * @throws PermanentError where the machines do not fit into `maxMachines`
 */
export function place(
  hosts: readonly PlacementHost[],
  demands: readonly PlacementDemand[],
  previous: Placements,
): Placements {
  const board = new Board(hosts);
  const pinned = demands.filter(({ host }) => host !== undefined);
  const zoned = demands.filter(({ host, zone }) => host === undefined && zone !== undefined);
  const free = demands.filter(({ host, zone }) => host === undefined && zone === undefined);

  for (const demand of pinned) board.put(demand, board.best(demand));
  for (const demand of [...zoned, ...free]) board.keep(demand, previous[demand.name]);
  for (const demand of zoned.filter(({ name }) => !board.has(name))) {
    if (board.best(demand) === undefined) board.makeRoom(demand, free);
    board.put(demand, board.best(demand));
  }
  for (const demand of free.filter(({ name }) => !board.has(name))) board.put(demand, board.best(demand));
  return board.placements();
}

/** Which machines are on which host so far. */
class Board {
  readonly #hosts: readonly PlacementHost[];
  readonly #placed = new Map<string, { demand: PlacementDemand; host: PlacementHost }>();
  readonly #load = new Map<string, number>();

  constructor(hosts: readonly PlacementHost[]) {
    this.#hosts = hosts;
  }

  has(name: string): boolean {
    return this.#placed.has(name);
  }

  put(demand: PlacementDemand, host: PlacementHost | undefined): void {
    if (host === undefined) {
      throw new PermanentError({
        reason: "NoCapacity",
        where: demand.name,
        message: "no host that it may run on has room",
        remedy: "Add a host, raise maxMachines, or shrink the pool.",
      });
    }
    this.#placed.set(demand.name, { demand, host });
    this.#count(demand, host, 1);
  }

  /** Leaves a machine where it was, if it may run there and there is room. */
  keep(demand: PlacementDemand, name: string | undefined): void {
    const host = this.#allowed(demand).find((candidate) => candidate.name === name);
    if (host !== undefined && this.#hasRoom(host)) this.put(demand, host);
  }

  best(demand: PlacementDemand): PlacementHost | undefined {
    const rank = (host: PlacementHost) => [this.#of(host, demand.pool), this.#of(host)] as const;
    return this.#allowed(demand)
      .filter((host) => this.#hasRoom(host))
      .reduce<PlacementHost | undefined>((best, host) => {
        if (best === undefined) return host;
        const [pool, all] = rank(host);
        const [bestPool, bestAll] = rank(best);
        return pool < bestPool || (pool === bestPool && all < bestAll) ? host : best;
      }, undefined);
  }

  /** Takes the last of `movable` away from a host that `demand` may run on. */
  makeRoom(demand: PlacementDemand, movable: readonly PlacementDemand[]): void {
    const allowed = new Set(this.#allowed(demand).filter(({ maxMachines }) => maxMachines !== 0));
    const last = movable.findLast(({ name }) => {
      const placed = this.#placed.get(name);
      return placed !== undefined && allowed.has(placed.host);
    });
    const placed = last && this.#placed.get(last.name);
    if (placed === undefined) return;
    this.#placed.delete(placed.demand.name);
    this.#count(placed.demand, placed.host, -1);
  }

  placements(): Placements {
    return Object.fromEntries([...this.#placed].map(([name, { host }]) => [name, host.name]));
  }

  #allowed({ host, zone }: PlacementDemand): PlacementHost[] {
    return this.#hosts.filter((candidate) =>
      host === undefined ? zone === undefined || candidate.zone === zone : candidate.name === host,
    );
  }

  #hasRoom(host: PlacementHost): boolean {
    return this.#of(host) < (host.maxMachines ?? Number.POSITIVE_INFINITY);
  }

  #of(host: PlacementHost, pool?: string): number {
    return this.#load.get(loadKey(host, pool)) ?? 0;
  }

  #count({ pool }: PlacementDemand, host: PlacementHost, difference: number): void {
    for (const key of [loadKey(host), loadKey(host, pool)]) {
      this.#load.set(key, (this.#load.get(key) ?? 0) + difference);
    }
  }
}

/** Identifiers hold no slash, so the keys cannot meet. */
function loadKey(host: PlacementHost, pool?: string): string {
  return pool === undefined ? host.name : `${host.name}/${pool}`;
}
