import type { RunContext } from "../pulumi/backend";
import type { ProxyCheckEnvironment } from "./environment";
import { pause } from "./pause";
import type { ProbeReport } from "./report";
import type { ProxyCheckInputs } from "./spec";
import type { Finding } from "./state";
import { judge } from "./verdict";

/** How often the same reason is told again, in milliseconds. */
const REPEAT_MS = 15_000;
/** With less time than this left, another attempt would only prove that the time is over, in milliseconds. */
const MIN_ATTEMPT_MS = 1000;

/** What an unwell proxy has to show before it counts as ready again. */
export interface Recovery {
  /** Passed probes in a row. */
  passes: number;
  /** What it suffered from, in case that time runs out while it recovers. */
  finding: Finding;
}

/**
 * Probes every `intervalSeconds` until the proxy passes (where it recovers:
 * several times in a row) or `waitTimeoutSeconds` are over; then the last
 * failure is what remains.
 * Progress is told when the reason changes, and every 15 s otherwise.
 */
export async function waitUntilReady(
  env: ProxyCheckEnvironment,
  inputs: ProxyCheckInputs,
  recovery: Recovery | undefined,
  run: RunContext,
): Promise<Finding> {
  const started = env.clock.now();
  const left = () => started + inputs.waitTimeoutSeconds * 1000 - env.clock.now();
  const tell = teller(env, run);
  const passes = recovery?.passes ?? 1;
  let failure = recovery?.finding;
  for (let row = 0; ; ) {
    const timeoutSeconds = Math.min(inputs.timeoutSeconds, left() / 1000);
    const report = await env.probe({ ...inputs, timeoutSeconds });
    const finding = { ready: false, reason: report.reason, message: report.message };
    if (judge(report.stages) === "pass") {
      if (++row >= passes) {
        for (const warning of warnings(report)) run.warn(`${inputs.name} ${warning}`);
        return { ...finding, ready: true };
      }
    } else {
      row = 0;
      failure = finding;
    }
    const over = left() - inputs.intervalSeconds * 1000 < MIN_ATTEMPT_MS;
    if (over && failure !== undefined) return failure;
    tell(row > 0 ? { reason: "Recovering", message: `${row} of ${passes} checks passed` } : finding);
    await pause(env, inputs.intervalSeconds, run.signal);
  }
}

function teller(
  env: ProxyCheckEnvironment,
  run: RunContext,
): (what: { reason: string; message: string }) => void {
  let told: { reason: string; at: number } | undefined;
  return ({ reason, message }) => {
    const now = env.clock.now();
    if (told?.reason === reason && now - told.at < REPEAT_MS) return;
    told = { reason, at: now };
    run.progress(`waiting: ${reason}: ${message}`);
  };
}

function warnings({ stages }: ProbeReport): string[] {
  return stages.flatMap((stage) =>
    stage.outcome === "skipped" && stage.warning !== undefined ? [stage.warning] : [],
  );
}
