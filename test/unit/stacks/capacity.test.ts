import assert from "node:assert/strict";
import fc from "fast-check";
import { parseConfig } from "../../../stacks/config/parse";
import { context, host, pool, sample } from "./sample";

const ZONES = ["east", "west"];

interface Case {
  hosts: { room: number; zone: number | undefined }[];
  members: { host?: number; zone?: number }[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  hosts: fc.array(fc.record({ room: fc.nat(2), zone: fc.option(fc.nat(1), { nil: undefined }) }), {
    minLength: 1,
    maxLength: 3,
  }),
  members: fc.array(
    fc.oneof(
      fc.constant({}),
      fc.nat(2).map((index) => ({ host: index })),
      fc.nat(1).map((index) => ({ zone: index })),
    ),
    { maxLength: 6 },
  ),
});

/** The config of a case; members that name what is not there are left out. */
function configOf({ hosts, members }: Case) {
  const placements = members
    .filter(({ host: index }) => index === undefined || index < hosts.length)
    .filter(({ zone: index }) => index === undefined || hosts.some(({ zone }) => zone === index))
    .map((member) => ({
      ...(member.host === undefined ? {} : { host: `h${member.host}` }),
      ...(member.zone === undefined ? {} : { zone: ZONES[member.zone]! }),
    }));
  const rawHosts = hosts.map(({ room, zone }, index) =>
    host(`h${index}`, { maxMachines: room, ...(zone === undefined ? {} : { zone: ZONES[zone] }) }),
  );
  const raw = sample(
    {
      crawl: pool({
        members: Object.fromEntries(placements.map((placement, index) => [`m${index}`, { placement }])),
      }),
    },
    rawHosts,
  );
  return { raw, placements, rawHosts };
}

/** Whether any assignment fits, by trying all of them. */
function fits({ raw, placements, rawHosts }: ReturnType<typeof configOf>): boolean {
  assert.ok(raw);
  const room = rawHosts.map(({ maxMachines }) => Number(maxMachines));
  const tryFrom = (member: number): boolean => {
    const placement = placements[member];
    if (placement === undefined) return true;
    return rawHosts.some((candidate, index) => {
      if (placement.host !== undefined && placement.host !== candidate.name) return false;
      if (placement.zone !== undefined && placement.zone !== candidate.zone) return false;
      if (room[index]! === 0) return false;
      room[index]! -= 1;
      const rest = tryFrom(member + 1);
      room[index]! += 1;
      return rest;
    });
  };
  return tryFrom(0);
}

describe("capacity", () => {
  it("refuses exactly the configs for which no placement fits", () => {
    fc.assert(
      fc.property(cases, (sampled) => {
        const made = configOf(sampled);
        assert.equal("config" in parseConfig(made.raw, context), fits(made));
      }),
      { numRuns: 500 },
    );
  });

  it("says who has to run where, and what room there is", () => {
    const raw = sample({ crawl: pool({ size: 5 }) }, [
      host("a", { maxMachines: 2 }),
      host("b", { maxMachines: 1 }),
    ]);
    const result = parseConfig(raw, context);
    assert.ok("problems" in result);
    assert.deepEqual(
      result.problems.map(({ path, message }) => [path, message]),
      [["egress:pools.crawl.size", "5 members have to run on the entry lab, which has room for 3"]],
    );
  });

  it("does not limit hosts without maxMachines", () => {
    assert.ok("config" in parseConfig(sample({ crawl: pool({ size: 1000 }) }), context));
  });
});
