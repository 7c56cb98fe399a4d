import { isDeepStrictEqual } from "node:util";
import type { Diff } from "../pulumi/backend";
import type { ProxyCheckInputs } from "./spec";

/** All that the user sets. `satisfies` makes a forgotten one a compile error. */
const KEYS = Object.keys({
  name: true,
  host: true,
  port: true,
  generation: true,
  target: true,
  allowedClients: true,
  wait: true,
  waitTimeoutSeconds: true,
  intervalSeconds: true,
  timeoutSeconds: true,
  failureThreshold: true,
  recoveryThreshold: true,
} satisfies Record<keyof ProxyCheckInputs, true>) as (keyof ProxyCheckInputs)[];

/** Compares what the user set, and nothing else. The order of `allowedClients` means nothing. Nothing replaces. */
export function diffInputs(olds: ProxyCheckInputs, news: ProxyCheckInputs): Diff {
  const changes = KEYS.some((key) => !isDeepStrictEqual(comparable(olds, key), comparable(news, key)));
  return { changes, replaces: [] };
}

function comparable(inputs: ProxyCheckInputs, key: keyof ProxyCheckInputs): unknown {
  const value: unknown = inputs[key];
  return Array.isArray(value) ? [...value].sort() : value;
}
