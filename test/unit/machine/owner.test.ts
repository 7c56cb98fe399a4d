import assert from "node:assert/strict";
import { machineMac, machineUuid, type Owner, volumeStem } from "@egress-proxies/providers/machine/owner";
import fc from "fast-check";

const text = fc.string({ minLength: 1 });
const owners: fc.Arbitrary<Owner> = fc.record({ project: text, stack: text, name: text });

describe("a machine's identity", () => {
  it("is the same in every run and every version: machines out there carry it", () => {
    const owner = { project: "egress-proxies", stack: "dev", name: "dev-crawl-1" };
    assert.equal(machineUuid(owner), "6cdc423b-f1c3-896c-8d4c-ff4dd81c7e02");
    assert.equal(machineMac(owner), "52:54:00:8f:4d:7c");
    assert.equal(volumeStem(owner), "dev-crawl-1-db50e14df4");
  });

  it("is a UUID of version 8 and a MAC under 52:54:00", () => {
    fc.assert(
      fc.property(owners, (owner) => {
        assert.match(
          machineUuid(owner),
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
        assert.match(machineMac(owner), /^52:54:00(:[0-9a-f]{2}){3}$/);
      }),
    );
  });

  it("differs where project, stack or name differ, wherever the border between them lies", () => {
    fc.assert(
      fc.property(owners, owners, (a, b) => {
        fc.pre(a.project !== b.project || a.stack !== b.stack || a.name !== b.name);
        assert.notEqual(machineUuid(a), machineUuid(b));
      }),
    );
    assert.notEqual(
      machineUuid({ project: "ab", stack: "c", name: "n" }),
      machineUuid({ project: "a", stack: "bc", name: "n" }),
    );
  });
});
