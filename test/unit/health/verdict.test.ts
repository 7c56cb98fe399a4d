import { strict as assert } from "node:assert";
import { REASONS } from "@egress-proxies/providers/health/reasons";
import type { StageResult } from "@egress-proxies/providers/health/report";
import { decide, judge, type Verdict } from "@egress-proxies/providers/health/verdict";
import fc from "fast-check";
import { type Outcome, report } from "./fixtures";

describe("judge", () => {
  it("passes only what reached the target", () => {
    const tcp: StageResult = { stage: "tcp", outcome: "passed", ms: 1 };
    assert.equal(judge([tcp, { stage: "target", outcome: "passed", ms: 1 }]), "pass");
    assert.equal(judge([tcp]), "inconclusive");
    assert.equal(judge([]), "inconclusive");
  });

  it("tells the target's faults from the proxy's", () => {
    const verdicts = new Map<string, string>([
      ["Ready", "pass"],
      ["Blocked", "blocked"],
      ["TargetUnreachable", "inconclusive"],
    ]);
    for (const reason of REASONS) {
      if (reason === "NotChecked" || reason === "NoAddress") continue;
      assert.equal(judge(report(reason satisfies Outcome).stages), verdicts.get(reason) ?? "fail", reason);
    }
  });
});

describe("decide", () => {
  const thresholds = { failureThreshold: 3, recoveryThreshold: 2 };
  const letters: Record<string, Verdict> = { p: "pass", f: "fail", b: "blocked", i: "inconclusive" };
  const table: ["ready" | "unready", string, string][] = [
    ["ready", "", "undecided"],
    ["ready", "p", "ready"],
    ["ready", "ff", "undecided"],
    ["ready", "ffp", "ready"],
    ["ready", "fff", "unready"],
    ["ready", "fbf", "unready"],
    ["ready", "iii", "undecided"],
    ["ready", "fif", "undecided"],
    ["ready", "fiff", "unready"],
    ["ready", "ffpff", "undecided"],
    ["unready", "", "undecided"],
    ["unready", "p", "undecided"],
    ["unready", "pp", "ready"],
    ["unready", "pip", "ready"],
    ["unready", "pf", "unready"],
    ["unready", "i", "undecided"],
    ["unready", "pfp", "undecided"],
  ];
  for (const [previous, row, expected] of table) {
    it(`${previous} and "${row}" is ${expected}`, () => {
      const verdicts = [...row].map((letter) => letters[letter]!);
      assert.equal(decide(previous, verdicts, thresholds), expected);
    });
  }

  const verdicts = fc.array(fc.constantFrom<Verdict>("pass", "fail", "blocked", "inconclusive"), {
    maxLength: 20,
  });
  const anyThresholds = fc.record({
    failureThreshold: fc.integer({ min: 1, max: 5 }),
    recoveryThreshold: fc.integer({ min: 1, max: 5 }),
  });

  it("flips only after a whole threshold of the contrary, whatever came before", () => {
    fc.assert(
      fc.property(verdicts, anyThresholds, (row, limits) => {
        const telling = row.filter((verdict) => verdict !== "inconclusive");
        const lost = telling.slice(-limits.failureThreshold);
        const flips = lost.length === limits.failureThreshold && !lost.includes("pass");
        assert.equal(decide("ready", row, limits) === "unready", flips);
        const won = telling.slice(-limits.recoveryThreshold);
        const heals = won.length === limits.recoveryThreshold && won.every((verdict) => verdict === "pass");
        assert.equal(decide("unready", row, limits) === "ready", heals);
      }),
    );
  });

  it("never lets an inconclusive verdict change a decision", () => {
    fc.assert(
      fc.property(verdicts, anyThresholds, fc.constantFrom("ready", "unready"), (row, limits, previous) => {
        const without = row.filter((verdict) => verdict !== "inconclusive");
        assert.equal(decide(previous, row, limits), decide(previous, without, limits));
      }),
    );
  });
});
