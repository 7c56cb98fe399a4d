import assert from "node:assert/strict";
import { exitStatus, line, NONE, sum, verdict } from "../../../tools/test-run/counts";
import { chosenKinds } from "../../../tools/test-run/kinds";

describe("tools: the test run", () => {
  it("runs all kinds without arguments, and chosen ones in the fixed order", () => {
    assert.deepEqual(chosenKinds([]), { kinds: ["unit", "component", "integration", "e2e"] });
    assert.deepEqual(chosenKinds(["e2e", "unit"]), { kinds: ["unit", "e2e"] });
    assert.deepEqual(chosenKinds(["unit", "smoke"]), { unknown: "smoke" });
  });

  it("ends with one line that leaves skipped out where there is none", () => {
    const total = sum([
      { passed: 3, failed: 0, skipped: 0 },
      { passed: 2, failed: 1, skipped: 0 },
    ]);
    assert.equal(line(total), "5 passed, 1 failed");
    assert.equal(line({ passed: 1, failed: 0, skipped: 2 }), "1 passed, 0 failed, 2 skipped");
  });

  it("fails when a test failed and when no test ran", () => {
    assert.equal(exitStatus({ passed: 1, failed: 0, skipped: 0 }), 0);
    assert.equal(exitStatus({ passed: 1, failed: 1, skipped: 0 }), 1);
    assert.equal(exitStatus({ passed: 0, failed: 0, skipped: 9 }), 1);
    assert.equal(exitStatus(NONE), 1);
  });

  it("counts a crash of mocha as a failure", () => {
    assert.deepEqual(verdict(undefined, 1), { passed: 0, failed: 1, skipped: 0 });
    assert.deepEqual(verdict({ passed: 4, failed: 0, skipped: 0 }, 7), { passed: 4, failed: 1, skipped: 0 });
    assert.deepEqual(verdict({ passed: 4, failed: 2, skipped: 0 }, 2), { passed: 4, failed: 2, skipped: 0 });
  });
});
