import assert from "node:assert/strict";
import { type Figure, toJson, toTable } from "../../../bench/figures";

const figures: Figure[] = [
  { name: "upload.time", value: 2.00001, unit: "s", baseline: 4, aim: "1.0 x scp or less" },
  { name: "machines.state", value: 5123, unit: "bytes" },
];

describe("figures of the benchmark", () => {
  it("are JSON by name, with null for what does not apply", () => {
    assert.deepEqual(JSON.parse(toJson(figures)), {
      "upload.time": { value: 2, unit: "s", baseline: 4, ratio: 0.5 },
      "machines.state": { value: 5123, unit: "bytes", baseline: null, ratio: null },
    });
  });

  it("are a table for people", () => {
    assert.equal(
      toTable(figures),
      [
        "figure          measured    compared with  ratio  aim",
        "upload.time     2 s         4 s            0.50   1.0 x scp or less",
        "machines.state  5123 bytes",
      ].join("\n"),
    );
  });
});
