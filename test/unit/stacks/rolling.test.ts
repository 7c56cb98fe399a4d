import assert from "node:assert/strict";
import fc from "fast-check";
import { rollingOrder, unavailableAtOnce } from "../../../stacks/plan/rolling";

describe("unavailableAtOnce", () => {
  it("is a number, or a percentage rounded down but at least 1", () => {
    const cases: [number | string, number, number][] = [
      [1, 5, 1],
      [3, 2, 3],
      ["25%", 8, 2],
      ["25%", 7, 1],
      ["25%", 3, 1],
      ["100%", 5, 5],
      ["0%", 5, 1],
    ];
    for (const [value, size, wanted] of cases) assert.equal(unavailableAtOnce(value, size), wanted);
  });
});

describe("rollingOrder", () => {
  const orderOf = (members: string[], standing: string[], atOnce: number) =>
    Object.fromEntries(rollingOrder(members, new Set(standing), atOnce));

  it("chains the members that stand already, and lets new ones wait for nobody", () => {
    assert.deepEqual(orderOf(["1", "2", "3", "4"], ["1", "3", "4"], 1), { "1": [], "3": ["1"], "4": ["3"] });
    assert.deepEqual(orderOf(["1", "2"], [], 1), {});
  });

  it("takes them in groups, each waiting for the whole group before it", () => {
    assert.deepEqual(orderOf(["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"], 2), {
      a: [],
      b: [],
      c: ["a", "b"],
      d: ["a", "b"],
      e: ["c", "d"],
    });
  });

  it("never lets more be away at once, in whatever order the engine goes on", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
        (size, atOnce, choices) => {
          const members = Array.from({ length: size }, (_, index) => String(index));
          const order = rollingOrder(members, new Set(members), atOnce);
          const done = new Set<string>();
          const away = new Set<string>();
          let step = 0;
          while (done.size < size) {
            // The engine starts whatever waits for nothing any more; then any one of those comes back.
            for (const [member, waits] of order) {
              if (!done.has(member) && waits.every((before) => done.has(before))) away.add(member);
            }
            assert.ok(away.size > 0, "stuck");
            assert.ok(away.size <= atOnce, `${away.size} away`);
            const back = [...away][choices[step++ % choices.length]! % away.size]!;
            away.delete(back);
            done.add(back);
          }
        },
      ),
    );
  });
});
