import assert from "node:assert/strict";
import { attemptName, attemptToken, baseStem, markerName } from "@egress-proxies/providers/images/naming";
import { processLiveness, processToken } from "@egress-proxies/providers/images/process-token";
import fc from "fast-check";

const names = fc.stringMatching(/^[A-Za-z0-9._-]{1,63}$/).filter((name) => name !== "." && name !== "..");
const namings = fc.record({ key: names, entry: fc.option(names, { nil: undefined }) });
const TOKEN = "0123456789ab-1f-2c";

describe("base naming", () => {
  it("names volumes as documented", () => {
    assert.equal(markerName({ key: "debian-12" }), "base-debian-12.json");
    assert.equal(markerName({ key: "debian-12", entry: "eu" }), "base-eu-debian-12.json");
    assert.equal(
      attemptName({ key: "debian-12" }, TOKEN, "89abcdef", "qcow2"),
      `base-debian-12.${TOKEN}-89abcdef.qcow2`,
    );
  });

  it("refuses names that could leave the pool's directory", () => {
    for (const key of ["", "..", "a/b", "a b", "ä", "x".repeat(64)]) {
      assert.throws(() => baseStem({ key }), { reason: "InvalidName" }, key);
      assert.throws(() => baseStem({ key: "fine", entry: key }), { reason: "InvalidName" }, key);
    }
  });

  it("fits into a file name, and finds its attempts again", () => {
    fc.assert(
      fc.property(namings, fc.constantFrom("qcow2" as const, "raw" as const), (naming, format) => {
        const name = attemptName(naming, processToken(), "89abcdef", format);
        assert.ok(name.length <= 255);
        assert.equal(attemptToken(naming, name), processToken());
      }),
    );
  });

  it("never takes a volume of another name for its own", () => {
    fc.assert(
      fc.property(namings, namings, (mine, theirs) => {
        fc.pre(baseStem(mine) !== baseStem(theirs));
        assert.equal(attemptToken(mine, attemptName(theirs, TOKEN, "89abcdef", "raw")), undefined);
        assert.equal(attemptToken(mine, markerName(theirs)), undefined);
      }),
    );
    const near = { key: `a.${TOKEN}-89abcdef.raw` };
    assert.equal(attemptToken({ key: "a" }, attemptName(near, TOKEN, "89abcdef", "raw")), undefined);
    assert.equal(attemptToken({ key: "a" }, markerName(near)), undefined);
  });
});

describe("process token", () => {
  it("tells this process, an ended one, and those it cannot judge apart", () => {
    const [where, pid] = processToken().split("-");
    assert.equal(processLiveness(processToken()), "alive");
    assert.equal(processLiveness(`${where}-fffffff-1`), "dead");
    assert.equal(processLiveness(`${where}-${pid}-1`), "dead"); // the same PID, started at another time
    assert.equal(processLiveness(`0123456789ab-${pid}-1`), "elsewhere");
    assert.equal(processLiveness("nonsense"), "elsewhere");
  });
});
