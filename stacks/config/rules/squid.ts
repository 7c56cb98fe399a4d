import { physicalName } from "@egress-proxies/providers/machine/owner";
import { squidOptionsProblems } from "@egress-proxies/providers/squid/options";
import { port as portSchema } from "../fields";
import { DEFAULT_PORT } from "../pool";
import { type Problem, problem } from "../problem";
import { type PathSegment, type PropertyPath, propertyPath } from "../property-path";
import { entries, get, isMap, texts } from "../raw";
import { type RawMember, rawMembers } from "./members";
import { nameFits } from "./names";
import type { Rule } from "./rule";

/** The generated squid.conf must be one that squid takes, and that opens the proxy to nobody by mistake. */
export const squidOptions: Rule = ({ pools }, { stack }) => {
  // Members share the pool's options: one problem for each place is enough.
  const problems = new Map<string, Problem>();
  for (const [poolName, pool] of entries(pools)) {
    for (const member of rawMembers(poolName, pool)) {
      for (const [path, message, remedy] of memberProblems(poolName, pool, member, stack)) {
        const place = propertyPath(path);
        if (!problems.has(place)) problems.set(place, problem(path, message, remedy));
      }
    }
  }
  return [...problems.values()];
};

function memberProblems(
  poolName: string,
  pool: unknown,
  member: RawMember,
  stack: string,
): [PropertyPath, string, string][] {
  /** The member's own option where it has one, else the pool's. */
  const option = (key: string): { path: PropertyPath; value: unknown } => {
    const own = get(member.own, key);
    return own === undefined
      ? { path: ["pools", poolName, key], value: get(pool, key) }
      : { path: [...member.path, key], value: own };
  };
  const cloudInit = option("cloudInit");
  const squid = get(cloudInit.value, "squid");
  if (!isMap(squid)) return [];
  const port = option("port");
  const name = physicalName(stack, poolName, member.name);
  const found = squidOptionsProblems({
    // What the schema and the naming rules refuse is not said twice.
    port: portSchema.safeParse(port.value).data ?? DEFAULT_PORT,
    visibleHostname: nameFits(name) ? name : "localhost",
    allowedClients: texts(get(squid, "allowedClients")),
    allowedDestinations: texts(get(squid, "allowedDestinations")),
  });
  return found.flatMap(({ path, problem: message, remedy }): [PropertyPath, string, string][] => {
    if (path === "port") return [[port.path, message, `${remedy}.`]];
    if (path === "visibleHostname") {
      return [[member.path, `the machine's name ${message}`, "Rename the pool or the member."]];
    }
    const at = segments(path);
    if (get(squid, ...at) === undefined || at.length === 1) return [];
    return [[[...cloudInit.path, "squid", ...at], message, `${remedy}.`]];
  });
}

/** `allowedClients[0]` as path segments. */
function segments(path: string): PathSegment[] {
  const [, key = path, index] = /^(\w+)\[(\d+)\]$/.exec(path) ?? [];
  return index === undefined ? [key] : [key, Number(index)];
}
