import type { StackValidationPolicy } from "@pulumi/policy";
import { poolsOf } from "../resources";
import { violation } from "../violation";

export interface ProtectedPoolsOptions {
  /** The fewest machines that each of these pools must keep, by the pool's name. Default: none. */
  pools?: Readonly<Record<string, number>>;
}

/**
 * Listed pools do not lose machines. A pack is not asked about deletions, only about what remains, so a
 * pool is listed with how many machines it has to keep.
 */
export function protectedPools({ pools = {} }: ProtectedPoolsOptions = {}): StackValidationPolicy {
  const count = { type: "integer" as const, minimum: 0 };
  return {
    name: "protected-pools",
    description: "Protected pools keep their machines.",
    configSchema: { properties: { pools: { type: "object", additionalProperties: count } } },
    validateStack: ({ resources, getConfig }, report) => {
      const listed = { pools, ...getConfig<ProtectedPoolsOptions>() }.pools;
      const present = new Map(poolsOf(resources).map((pool) => [pool.name, pool]));
      for (const [resource, fewest] of Object.entries(listed)) {
        const pool = present.get(resource);
        const value = pool?.machines ?? 0;
        if (value >= fewest) continue;
        const problem = `is fewer than the ${fewest} that this protected pool keeps`;
        const remedy = "Put its members back, or lower its number in this policy's `pools` first.";
        report(violation({ resource, property: "machines", value, problem, remedy }), pool?.urn);
      }
    },
  };
}
