import type { StageResult } from "./report";

/**
 * - `pass`: the target was reached through the proxy, as it should be
 * - `blocked`: the proxy works, and the target turns it away
 * - `inconclusive`: the fault may lie with the target; says nothing about the proxy
 * - `fail`: the proxy does not do its work, or does too much
 */
export type Verdict = "pass" | "blocked" | "inconclusive" | "fail";

export function judge(stages: readonly StageResult[]): Verdict {
  const failed = stages.find((stage) => stage.outcome === "failed");
  if (failed?.outcome === "failed") {
    if (failed.reason === "Blocked") return "blocked";
    return failed.reason === "TargetUnreachable" ? "inconclusive" : "fail";
  }
  const reached = stages.some(({ stage, outcome }) => stage === "target" && outcome === "passed");
  return reached ? "pass" : "inconclusive";
}

export interface Thresholds {
  /** Failed checks in a row that make a ready proxy unready. */
  failureThreshold: number;
  /** Passed checks in a row that make an unready proxy ready. */
  recoveryThreshold: number;
}

/**
 * What a row of verdicts, oldest first, makes of a proxy. A ready proxy stays
 * ready at the first pass and needs `failureThreshold` failures in a row to
 * lose it; an unready one mirrors that. Inconclusive verdicts neither count nor
 * interrupt a row. `undecided`: the row is too short; what was before holds.
 */
export function decide(
  previous: "ready" | "unready",
  verdicts: readonly Verdict[],
  { failureThreshold, recoveryThreshold }: Thresholds,
): "ready" | "unready" | "undecided" {
  const passes = verdicts
    .filter((verdict) => verdict !== "inconclusive")
    .map((verdict) => verdict === "pass");
  const last = passes.at(-1);
  if (last === undefined) return "undecided";
  const row = passes.length - 1 - passes.lastIndexOf(!last);
  if (last === (previous === "ready")) return previous;
  if (previous === "ready") return row >= failureThreshold ? "unready" : "undecided";
  return row >= recoveryThreshold ? "ready" : "undecided";
}
