import assert from "node:assert/strict";
import { poolSize, protectedPools, rules } from "@egress-proxies/policies";
import { pool, stackViolations } from "./run";

describe("policies on pools", () => {
  it("pool-size: counts external members too", async () => {
    const resources = [...pool("small", 2), ...pool("large", 3, true)];
    const [first, ...more] = await stackViolations(poolSize({ most: 2 }), resources);
    assert.equal(first?.[1], "urn:large");
    assert.match(first?.[0] ?? "", /^large: size 3 is more than 2\. Make the pool smaller/);
    assert.deepEqual(more, []);
    assert.deepEqual(await stackViolations(poolSize({ most: 2 }), resources, { most: 3 }), []);
  });

  it("protected-pools: a listed pool keeps its machines, also when it is gone altogether", async () => {
    const config = { pools: { crawl: 3, gone: 1 } };
    const found = await stackViolations(
      protectedPools(),
      [...pool("crawl", 2), ...pool("crawl-b", 9)],
      config,
    );
    assert.deepEqual(
      found.map(([message, urn]) => [message.split(".")[0], urn]),
      [
        ["crawl: machines 2 is fewer than the 3 that this protected pool keeps", "urn:crawl"],
        ["gone: machines 0 is fewer than the 1 that this protected pool keeps", undefined],
      ],
    );
    assert.deepEqual(await stackViolations(protectedPools({ pools: { crawl: 2 } }), pool("crawl", 2)), []);
  });

  it("every rule has a name of its own and says what it is for", () => {
    const all = rules();
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { description } of all) assert.match(description, /\.$/);
  });
});
