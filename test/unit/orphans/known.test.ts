import assert from "node:assert/strict";
import { ownerKey } from "@egress-proxies/providers/kvm/orphans";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { knownOf } from "../../../tools/orphans/known";

const owner = { project: "mine", stack: "dev", name: "dev-crawl-1" };
const machine = (change: object) => ({
  type: "pulumi-nodejs:dynamic/egress:KvmMachine",
  urn: "urn:pulumi:dev::mine::machine",
  ...change,
});
const exported = (deployment: object) => new Map([["dev", JSON.stringify({ version: 3, deployment })]]);

describe("what stacks know", () => {
  it("is every machine with its image, creations under way included", () => {
    const other = { ...owner, name: "dev-crawl-2" };
    const { owners, images } = knownOf(
      exported({
        resources: [
          { type: "pulumi:pulumi:Stack" },
          machine({ outputs: { owner, spec: { image: { key: "debian" } } } }),
        ],
        pending_operations: [
          { type: "creating", resource: machine({ inputs: { owner: other, image: { key: "alpine" } } }) },
        ],
      }),
      ["configured"],
    );
    assert.deepEqual([...owners].sort(), [ownerKey(owner), ownerKey(other)].sort());
    assert.deepEqual([...images].sort(), ["alpine", "configured", "debian"]);
  });

  it("is nothing for a stack that is empty", () => {
    assert.equal(knownOf(exported({}), []).owners.size, 0);
    assert.equal(knownOf(exported({ resources: null }), []).owners.size, 0);
  });

  const unusable: [string, Map<string, string>][] = [
    ["is no JSON", new Map([["dev", "error: no such stack"]])],
    ["has no deployment", new Map([["dev", "{}"]])],
    [
      "has a machine whose owner cannot be told",
      exported({ resources: [machine({ outputs: { owner: { secret: 1 } } })] }),
    ],
  ];
  for (const [what, exports] of unusable) {
    it(`cannot be told from an export that ${what}`, () => {
      assert.throws(
        () => knownOf(exports, []),
        (error) => error instanceof PermanentError && error.reason === "StackUnreadable",
      );
    });
  }
});
