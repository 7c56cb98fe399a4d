import assert from "node:assert/strict";
import { placementsOf, previousOf } from "../../../stacks/previous";

describe("previousOf", () => {
  const machine = { owner: { name: "dev-crawl-1" }, host: { name: "lab1" }, spec: { entry: "lab" }, ip: "" };
  const check = (name: string, generation: string) => ({
    name,
    generation,
    target: { url: "", expectedStatus: 204 },
  });

  it("finds machines and external endpoints among everything else of a stack", () => {
    const previous = previousOf({
      "urn:a": { type: "pulumi:pulumi:Stack", outputs: { proxies: [] } },
      "urn:b": { type: "machine", outputs: machine },
      "urn:c": { type: "check", outputs: check("dev-crawl-1", "g1") },
      "urn:d": { type: "check", outputs: check("dev-out-a", "") },
      "urn:e": { type: "other", outputs: { name: "x", generation: "" } },
    });
    assert.deepEqual([...previous.machines], [["dev-crawl-1", { host: "lab1", entry: "lab" }]]);
    assert.deepEqual([...previous.external], ["dev-out-a"]);
    assert.deepEqual(placementsOf(previous), { "dev-crawl-1": "lab1" });
  });

  it("is empty for a new stack", () => {
    assert.deepEqual(placementsOf(previousOf({})), {});
  });

  it("refuses what is no state", () => {
    assert.throws(() => previousOf("nonsense"));
  });
});
