import { type Problem, problem } from "../config/problem";
import type { PlannedPool } from "./planned";

/** What the last deployment left, by physical name. */
export interface Standing {
  machines: ReadonlyMap<string, { entry: string }>;
  /** The external endpoints. */
  external: ReadonlySet<string>;
}

/**
 * A proxy's mode and provider cannot change in place: the pool would be gone
 * while its new machines boot, or machines would be deleted where nothing but
 * an address was meant to change. One problem for a pool is enough.
 */
export function inPlaceProblems(pools: readonly PlannedPool[], before: Standing): Problem[] {
  return pools.flatMap(({ name: pool, proxies }) => {
    for (const { name, mode, provider } of proxies) {
      const entry = before.machines.get(name)?.entry;
      const wasMode = entry !== undefined ? "Managed" : before.external.has(name) ? "External" : mode;
      if (wasMode !== mode) {
        const message = `${name} is ${wasMode}, and a mode cannot change in place`;
        return [problem(["pools", pool, "mode"], message, MOVE, mode)];
      }
      if (entry !== undefined && entry !== provider) {
        const message = `${name} runs on ${entry}, and a provider cannot change in place`;
        return [problem(["pools", pool, "provider"], message, MOVE, provider)];
      }
    }
    return [];
  });
}

const MOVE =
  "To move: add a pool of another name with the new value, run `pulumi up`, let the crawlers use it, then take " +
  "this pool out. Or, with a pause: take it out, run `pulumi up`, and put it back as you want it.";
