import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { z } from "zod";

/** The stack's output `proxies`: what the formats need by name, everything else passed on. */
export const proxiesOutput = z.array(
  z.looseObject({
    name: z.string(),
    pool: z.string(),
    url: z.string(),
    ready: z.boolean(),
    maxLeases: z.number(),
  }),
);

export type Endpoint = z.output<typeof proxiesOutput>[number];

const checkOutputs = z.object({
  name: z.string(),
  ready: z.boolean(),
  reason: z.string(),
  target: z.object({}),
});
const exportedStack = z.object({
  deployment: z.object({ resources: z.array(z.object({ outputs: z.unknown().optional() })).default([]) }),
});

/**
 * Endpoints with what their checks found last. A stack's outputs are from its
 * last `up` that ended well; a refresh, or an `up` that failed, changes only
 * the resources.
 *
 * @param exported what `pulumi stack export` prints
 */
export function withLastChecks(endpoints: readonly Endpoint[], exported: unknown): Endpoint[] {
  const { resources } = exportedStack.parse(exported).deployment;
  const checks = new Map(
    resources
      .flatMap(({ outputs }) => checkOutputs.safeParse(outputs).data ?? [])
      .map(({ name, ready, reason }) => [name, { ready, reason }]),
  );
  // A member whose check has left the stack is no proxy of it any more.
  return endpoints.flatMap((endpoint) => {
    const check = checks.get(endpoint.name);
    return check === undefined ? [] : [{ ...endpoint, ...check }];
  });
}

/** Endpoints as text, one way for each `--format`. */
export const FORMATS = {
  /** A URL on each line: curl, Scrapy's ROTATING_PROXY_LIST_PATH. */
  urls: (endpoints: readonly Endpoint[]) => endpoints.map(({ url }) => `${url}\n`).join(""),
  /** The output as it stands, with everything that is known of each. */
  json: (endpoints: readonly Endpoint[]) => `${JSON.stringify(endpoints, null, 2)}\n`,
  /** Assignments for `eval`, `.env` files and `docker run --env-file`: all, then each pool's. */
  env: environment,
};

export type Format = keyof typeof FORMATS;

/**
 * The endpoints that a crawler may use: those that answered at their last check
 * and are given out at all.
 */
export function usable(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.filter(({ url, ready, maxLeases }) => url !== "" && ready && maxLeases > 0);
}

const VARIABLE = "EGRESS_PROXIES";

/** A URL holds neither quote nor blank nor comma, so that no quoting is needed: `--env-file` would keep it. */
function environment(endpoints: readonly Endpoint[]): string {
  const pools = new Map<string, string>();
  for (const { pool } of endpoints) {
    const variable = `${VARIABLE}_${pool.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
    const other = pools.get(variable) ?? pool;
    if (other !== pool) {
      throw new PermanentError({
        reason: "SameVariable",
        where: `pools ${other} and ${pool}`,
        message: `both come to the variable ${variable}`,
        remedy: "Ask for one of them with --pool, or rename one.",
      });
    }
    pools.set(variable, pool);
  }
  const line = (variable: string, chosen: readonly Endpoint[]) =>
    `${variable}=${chosen.map(({ url }) => url).join(",")}\n`;
  return [
    line(VARIABLE, endpoints),
    ...[...pools].map(([variable, pool]) =>
      line(
        variable,
        endpoints.filter((endpoint) => endpoint.pool === pool),
      ),
    ),
  ].join("");
}
