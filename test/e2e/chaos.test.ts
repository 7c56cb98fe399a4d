import assert from "node:assert/strict";
import { chaos } from "../chaos/chaos";
import { lab } from "./lab";

const CUTS = 20;
const seed = Number(process.env.EGRESS_TEST_SEED ?? Date.now() % 1_000_000);

describe(`two stacks race on one host under faults (EGRESS_TEST_SEED=${seed})`, function () {
  this.timeout(600_000);

  it(`${CUTS} cuts: the next run ends well each time, and the host holds what was asked for and nothing else`, async () => {
    const lines: string[] = [];
    const { failures } = await chaos({ lab, cuts: CUTS, seed, say: (line) => lines.push(line) });
    assert.deepEqual(failures, [], lines.join("\n"));
  });
});
