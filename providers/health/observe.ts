import type { RunContext } from "../pulumi/backend";
import type { ProxyCheckEnvironment } from "./environment";
import { pause } from "./pause";
import type { ProbeReport } from "./report";
import type { Finding, ProxyCheckState } from "./state";
import { decide, judge, type Verdict } from "./verdict";

/** The longest pause between two looks of one refresh, in seconds. */
const MAX_PAUSE_SECONDS = 2;

/**
 * Looks at a proxy as often as it takes to say whether it still is what it was,
 * but at most a threshold's number of times: a refresh is bounded by
 * `timeoutSeconds` times the threshold plus pauses of at most two seconds.
 *
 * @returns `unchanged` where a healthy proxy is still well, and where nothing could be decided
 */
export async function observe(
  env: ProxyCheckEnvironment,
  state: ProxyCheckState,
  run: RunContext,
): Promise<Finding | "unchanged"> {
  const previous = state.ready ? "ready" : "unready";
  const attempts = state.ready ? state.failureThreshold : state.recoveryThreshold;
  const verdicts: Verdict[] = [];
  let report: ProbeReport;
  for (;;) {
    report = await env.probe(state);
    verdicts.push(judge(report.stages));
    const decision = decide(previous, verdicts, state);
    if (decision === "ready") return state.ready ? "unchanged" : found(true, report);
    if (decision === "unready") return found(false, report);
    if (verdicts.length >= attempts) break;
    await pause(env, Math.min(state.intervalSeconds, MAX_PAUSE_SECONDS), run.signal);
  }
  const kept = state.ready ? "is still taken for ready" : `is still taken for unready (${state.reason})`;
  run.warn(`${state.name} ${kept}: the check could not decide. ${report.reason}: ${report.message}`);
  return "unchanged";
}

function found(ready: boolean, { reason, message }: ProbeReport): Finding {
  return { ready, reason, message };
}
