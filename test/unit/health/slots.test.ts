import { strict as assert } from "node:assert";
import { Slots } from "@egress-proxies/providers/health/slots";

describe("Slots", () => {
  it("never runs more than its limit, and everything in the order in which it came", async () => {
    const slots = new Slots(3);
    let running = 0;
    let most = 0;
    const started: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        slots.run(async () => {
          started.push(i);
          most = Math.max(most, ++running);
          await new Promise(setImmediate);
          running--;
        }),
      ),
    );
    assert.equal(most, 3);
    assert.deepEqual(started, [...Array(20).keys()]);
  });

  it("gives a slot back when its work fails", async () => {
    const slots = new Slots(1);
    await assert.rejects(
      slots.run(async () => Promise.reject(new Error("no"))),
      /no/,
    );
    assert.equal(await slots.run(async () => "yes"), "yes");
  });
});
