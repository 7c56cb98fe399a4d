import assert from "node:assert/strict";
import fc from "fast-check";
import { editDistance, nearest } from "../../../stacks/config/nearest";

describe("nearest", () => {
  const options = ["maxLeases", "machineType", "placement", "port", "pool"];
  const cases: [string, string | undefined][] = [
    ["maxLease", "maxLeases"],
    ["maxleases", "maxLeases"],
    ["palcement", "placement"],
    ["prot", "port"],
    ["machine_type", "machineType"],
    ["whatever", undefined],
    ["x", undefined],
  ];
  for (const [word, meant] of cases) {
    it(`${word} -> ${meant ?? "nothing"}`, () => assert.equal(nearest(word, options), meant));
  }
});

describe("editDistance", () => {
  const word = fc.string({ maxLength: 8 });

  it("is 0 only for the same word, symmetric, and at most the longer length", () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        assert.equal(distance === 0, a === b);
        assert.equal(distance, editDistance(b, a));
        assert.ok(distance <= Math.max(a.length, b.length));
        assert.ok(distance >= Math.abs(a.length - b.length));
      }),
    );
  });
});
