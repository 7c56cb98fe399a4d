import type { DirectImage } from "../config/kvm";
import type { ManagedPool, MemberConfig } from "../config/pool";
import { memberNames } from "../config/rules/members";
import { ordered } from "./order";

/** A member with everything the pool gives it. */
export interface Member {
  name: string;
  port: number;
  maxLeases: number;
  labels: Readonly<Record<string, string>>;
  placement: { host?: string; zone?: string; machineType: string; image: string | DirectImage };
  cloudInit: NonNullable<ManagedPool["cloudInit"]>;
}

/** A pool's members in their order: 1 to N, or by name. */
export function membersOf(poolName: string, pool: ManagedPool): Member[] {
  const own: [string, MemberConfig][] =
    pool.members === undefined
      ? memberNames(pool.size ?? 0).map((name) => [name, {}])
      : ordered(pool.members);
  return own.map(([name, member]) => {
    const { host, zone, ...built } = pool.placement;
    const { host: ownHost, zone: ownZone, ...ownBuilt } = member.placement ?? {};
    const moved = ownHost !== undefined || ownZone !== undefined;
    const [atHost, inZone] = moved ? [ownHost, ownZone] : [host, zone];
    const { machineType, image } = { ...built, ...ownBuilt };
    const cloudInit = member.cloudInit ?? pool.cloudInit;
    // parseConfig refuses such a pool; this only tells the compiler so.
    if (image === undefined || cloudInit === undefined) throw new TypeError(`unchecked pool ${poolName}`);
    return {
      name,
      port: member.port ?? pool.port,
      maxLeases: member.maxLeases ?? pool.maxLeases,
      labels: { ...pool.labels, ...member.labels },
      placement: {
        machineType,
        image,
        ...(atHost === undefined ? {} : { host: atHost }),
        ...(inZone === undefined ? {} : { zone: inZone }),
      },
      cloudInit,
    };
  });
}
