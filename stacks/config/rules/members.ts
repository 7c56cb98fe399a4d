import { MAX_POOL_SIZE } from "../pool";
import type { PropertyPath } from "../property-path";
import { count, entries, get } from "../raw";

/** A pool's member as written: its own options, and where they stand. */
export interface RawMember {
  name: string;
  /** Its own path, or the pool's `size` where it has none. */
  path: PropertyPath;
  own: unknown;
}

export function rawMembers(poolName: string, pool: unknown): RawMember[] {
  const named = entries(get(pool, "members")).map(([name, own]) => ({
    name,
    path: ["pools", poolName, "members", name],
    own,
  }));
  const size = Math.min(count(pool, "size") ?? 0, MAX_POOL_SIZE);
  const numbered = memberNames(size).map((name) => ({ name, path: ["pools", poolName, "size"], own: {} }));
  return [...named, ...numbered];
}

/** Whether machines are built for a pool; one of an unknown mode is reported for that alone. */
export function isManaged(pool: unknown): boolean {
  const mode = get(pool, "mode");
  return mode === undefined || mode === "Managed";
}

/** The members of a pool that is given by its size. */
export function memberNames(size: number): string[] {
  return Array.from({ length: size }, (_, index) => String(index + 1));
}

/** What a member's placement comes to: its own parts over the pool's, its own host or zone instead of both. */
export function rawPlacement(
  pool: unknown,
  member: RawMember,
): { host: unknown; zone: unknown; image: unknown } {
  const inherited = get(pool, "placement");
  const own = get(member.own, "placement");
  const moved = get(own, "host") !== undefined || get(own, "zone") !== undefined;
  const where = moved ? own : inherited;
  return {
    host: get(where, "host"),
    zone: get(where, "zone"),
    image: get(own, "image") ?? get(inherited, "image"),
  };
}

/** Every `cloudInit` block as written, of pools and of members, and where it stands. */
export function cloudInits(pools: unknown): [PropertyPath, unknown][] {
  return entries(pools).flatMap(([name, pool]): [PropertyPath, unknown][] => [
    [["pools", name, "cloudInit"], get(pool, "cloudInit")],
    ...entries(get(pool, "members")).map(([member, own]): [PropertyPath, unknown] => [
      ["pools", name, "members", member, "cloudInit"],
      get(own, "cloudInit"),
    ]),
  ]);
}
