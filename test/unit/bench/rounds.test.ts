import assert from "node:assert/strict";
import { inTurn, median } from "../../../bench/rounds";

describe("rounds of the benchmark", () => {
  it("take the middle, and the mean of two middles", () => {
    assert.equal(median([9, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 9]), 3);
    assert.throws(() => median([]), RangeError);
  });

  it("go from side to side", async () => {
    const order: string[] = [];
    const side = (name: string) => async (round: number) => {
      order.push(`${name}${round}`);
      return round;
    };
    const results = await inTurn(2, { a: side("a"), b: side("b") });
    assert.deepEqual(order, ["a0", "b0", "a1", "b1"]);
    assert.deepEqual(results, { a: [0, 1], b: [0, 1] });
  });
});
