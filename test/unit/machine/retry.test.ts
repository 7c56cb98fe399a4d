import assert from "node:assert/strict";
import { PermanentError, TransientError } from "@egress-proxies/providers/machine/errors";
import { retryTransient } from "@egress-proxies/providers/machine/retry";

const transient = () => new TransientError({ reason: "Unreachable", message: "no answer" });

function fakeClock() {
  const slept: number[] = [];
  return { slept, now: () => 0, sleep: async (ms: number) => void slept.push(ms) };
}

describe("retryTransient", () => {
  it("tries again with doubling pauses up to the longest, then gives the last error", async () => {
    const clock = fakeClock();
    let calls = 0;
    const work = async () => {
      calls += 1;
      throw transient();
    };
    await assert.rejects(
      retryTransient(work, { attempts: 5, delayMs: 10, maxDelayMs: 30, clock }),
      TransientError,
    );
    assert.equal(calls, 5);
    assert.deepEqual(clock.slept, [10, 20, 30, 30]);
  });

  it("never repeats what is permanent", async () => {
    let calls = 0;
    const work = async () => {
      calls += 1;
      throw new PermanentError({ reason: "PoolMissing", message: "no pool" });
    };
    await assert.rejects(
      retryTransient(work, { attempts: 5, delayMs: 1, clock: fakeClock() }),
      PermanentError,
    );
    assert.equal(calls, 1);
  });

  it("does not start over what a layer below has retried in vain", async () => {
    const clock = fakeClock();
    let calls = 0;
    const inner = async () => {
      calls += 1;
      throw transient();
    };
    const retried = () => retryTransient(inner, { attempts: 3, delayMs: 1, clock });
    await assert.rejects(retryTransient(retried, { attempts: 3, delayMs: 1, clock }), TransientError);
    assert.equal(calls, 3);
  });

  it("stops at once when the run is over", async () => {
    let calls = 0;
    const work = async () => {
      calls += 1;
      throw transient();
    };
    const giveUp = AbortSignal.abort();
    await assert.rejects(retryTransient(work, { attempts: 5, delayMs: 1, clock: fakeClock(), giveUp }));
    assert.equal(calls, 1);
  });
});
