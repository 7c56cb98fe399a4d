import { CLOUD_INIT_SOURCES } from "../cloud-init";
import { type Problem, problem } from "../problem";
import type { PropertyPath } from "../property-path";
import { entries, get, isMap } from "../raw";
import { isManaged, rawMembers } from "./members";
import type { Rule } from "./rule";

/** Where options exclude each other, exactly one is set. */
export const choices: Rule = ({ pools }) =>
  entries(pools).flatMap(([name, pool]) => {
    if (!isMap(pool) || !isManaged(pool)) return [];
    const path = ["pools", name];
    return [
      ...exactlyOne(path, pool, ["size", "members"]),
      ...sources([...path, "cloudInit"], get(pool, "cloudInit")),
      ...entries(get(pool, "members")).flatMap(([member, own]) =>
        sources([...path, "members", member, "cloudInit"], get(own, "cloudInit")),
      ),
      ...withoutCloudInit(name, pool),
    ];
  });

function sources(path: PropertyPath, cloudInit: unknown): Problem[] {
  return isMap(cloudInit) ? exactlyOne(path, cloudInit, CLOUD_INIT_SOURCES) : [];
}

function exactlyOne(path: PropertyPath, value: unknown, keys: readonly string[]): Problem[] {
  const set = keys.filter((key) => get(value, key) !== undefined);
  if (set.length === 1) return [];
  const message = set.length === 0 ? `has none of ${keys.join(", ")}` : `has ${set.join(" and ")} at once`;
  return [problem(path, message, `Set exactly one of ${keys.join(", ")}.`)];
}

function withoutCloudInit(poolName: string, pool: unknown): Problem[] {
  if (get(pool, "cloudInit") !== undefined) return [];
  const lacking = rawMembers(poolName, pool).find(({ own }) => get(own, "cloudInit") === undefined);
  if (lacking === undefined) return [];
  const message = `is required: member ${lacking.name} has none of its own`;
  const remedy = `Add it, with exactly one of ${CLOUD_INIT_SOURCES.join(", ")}.`;
  return [problem(["pools", poolName, "cloudInit"], message, remedy)];
}
