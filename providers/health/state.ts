import { InitFailedError } from "../pulumi/init-failed";
import type { ProxyCheckInputs, ProxyCheckOutputs } from "./spec";

/** What stands in Pulumi's state for one check. */
export type ProxyCheckState = ProxyCheckInputs & ProxyCheckOutputs;

/** What was found out about a proxy. */
export interface Finding {
  ready: boolean;
  /** A `Reason`, or one that only the version knew which wrote the state. */
  reason: string;
  message: string;
}

/**
 * The state after a finding. `lastTransitionTime` moves only when `ready` flips,
 * and what has not changed is the very object that came in.
 *
 * @param now milliseconds since the epoch
 */
export function withFinding(
  inputs: ProxyCheckInputs,
  previous: ProxyCheckOutputs | undefined,
  { ready, reason, message }: Finding,
  now: number,
): ProxyCheckState {
  const lastTransitionTime =
    previous?.ready === ready ? previous.lastTransitionTime : new Date(now).toISOString();
  return { ...inputs, ready, reason, message, lastTransitionTime };
}

/** The way to say "in the state, but not well": the next `up` looks again. */
export function notReady(id: string, state: ProxyCheckState): InitFailedError {
  return new InitFailedError(id, { ...state }, [`${state.reason}: ${state.message}`]);
}
