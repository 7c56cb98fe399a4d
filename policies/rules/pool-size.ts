import type { StackValidationPolicy } from "@pulumi/policy";
import { poolsOf } from "../resources";
import { violation } from "../violation";

export interface PoolSizeOptions {
  /** The most members of one pool. Default: 100. */
  most?: number;
}

/** A slip of the finger in `size` does not build a thousand machines. */
export function poolSize({ most = 100 }: PoolSizeOptions = {}): StackValidationPolicy {
  return {
    name: "pool-size",
    description: "No pool has more members than agreed.",
    configSchema: { properties: { most: { type: "integer", minimum: 0 } } },
    validateStack: ({ resources, getConfig }, report) => {
      const limit = { most, ...getConfig<PoolSizeOptions>() }.most;
      for (const { name: resource, urn, proxies: value } of poolsOf(resources)) {
        if (value <= limit) continue;
        const problem = `is more than ${limit}`;
        const remedy = "Make the pool smaller, split it, or raise `most` of this policy.";
        report(violation({ resource, property: "size", value, problem, remedy }), urn);
      }
    },
  };
}
