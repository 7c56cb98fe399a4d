import assert from "node:assert/strict";
import { TransientError } from "@egress-proxies/providers/machine/errors";
import { interrupted, safePoint } from "@egress-proxies/providers/machine/safe-point";

describe("safe point", () => {
  it("lets work go on while the run lives", () => {
    assert.doesNotThrow(() => safePoint(new AbortController().signal));
  });

  it("ends work of a run that is over, saying why and what to do", () => {
    assert.throws(
      () => safePoint(AbortSignal.abort(interrupted("the engine is gone"))),
      (error) =>
        error instanceof TransientError &&
        error.reason === "Interrupted" &&
        error.message ===
          "stopped before the next change: the engine is gone. Run `pulumi up` again: it goes on from what is there",
    );
  });

  it("knows a run that was ended in another way", () => {
    assert.throws(
      () => safePoint(AbortSignal.abort()),
      (error) => error instanceof TransientError && error.reason === "Interrupted",
    );
  });
});
