import { parseArgs } from "node:util";
import { PermanentError } from "@egress-proxies/providers/machine/errors";

/** What can be measured, in this order. */
export const MEASUREMENTS = ["upload", "publish", "calls", "machines"] as const;
export type Measurement = (typeof MEASUREMENTS)[number];

export interface Options {
  /** Where the figures go as JSON. */
  json?: string;
  only: readonly Measurement[];
  /** Small sizes and one round, to try the benchmark itself; its figures mean little. */
  quick: boolean;
}

/** @throws PermanentError `BadArguments` */
export function parseOptions(args: string[]): Options {
  const { json, only, quick } = parsed(args);
  return {
    ...(json === undefined ? {} : { json }),
    only: only === undefined ? MEASUREMENTS : only.split(",").map(measurement),
    quick: quick ?? false,
  };
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      options: { json: { type: "string" }, only: { type: "string" }, quick: { type: "boolean" } },
    }).values;
  } catch (error) {
    throw badArguments((error as Error).message, error);
  }
}

function measurement(name: string): Measurement {
  const known = MEASUREMENTS.find((candidate) => candidate === name);
  if (known === undefined) throw badArguments(`there is no measurement named "${name}"`);
  return known;
}

function badArguments(message: string, cause?: unknown): PermanentError {
  return new PermanentError({
    reason: "BadArguments",
    message,
    remedy: `Usage: npm run bench -- [--json FILE] [--only ${MEASUREMENTS.join(",")}] [--quick]`,
    cause,
  });
}
