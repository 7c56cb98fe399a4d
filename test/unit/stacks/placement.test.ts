import assert from "node:assert/strict";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import fc from "fast-check";
import {
  type PlacementDemand,
  type PlacementHost,
  type Placements,
  place,
} from "../../../stacks/plan/placement";

const hostsOf = (...names: string[]): PlacementHost[] => names.map((name) => ({ name }));
const poolOf = (pool: string, size: number): PlacementDemand[] =>
  Array.from({ length: size }, (_, index) => ({ name: `${pool}-${index + 1}`, pool }));

function loads(hosts: readonly PlacementHost[], demands: readonly PlacementDemand[], placements: Placements) {
  return hosts.map(({ name }) => demands.filter((demand) => placements[demand.name] === name).length);
}

const uneven = (counts: number[]) => Math.max(...counts) - Math.min(...counts);

const someHosts = fc
  .integer({ min: 1, max: 6 })
  .map((count) => hostsOf(...Array.from({ length: count }, (_, i) => `h${i}`)));
const somePools = fc
  .array(fc.nat(9), { minLength: 1, maxLength: 4 })
  .map((sizes) => sizes.map((size, index) => poolOf(`p${index}`, size)));

describe("place", () => {
  it("spreads each pool, and all of them together, as evenly as can be", () => {
    fc.assert(
      fc.property(someHosts, somePools, (hosts, pools) => {
        const demands = pools.flat();
        const placements = place(hosts, demands, {});
        for (const pool of pools) assert.ok(uneven(loads(hosts, pool, placements)) <= 1);
        assert.ok(uneven(loads(hosts, demands, placements)) <= 1);
      }),
    );
  });

  it("never puts more on a host than maxMachines", () => {
    const limited = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        limited,
        fc.nat(),
        fc.dictionary(fc.constantFrom("p-1", "p-2", "p-3", "p-9"), fc.constantFrom("h0", "h1", "gone")),
        (rooms, wanted, previous) => {
          const hosts = rooms.map((maxMachines, index) => ({ name: `h${index}`, maxMachines }));
          const room = rooms.reduce((sum, count) => sum + count, 0);
          const demands = poolOf("p", wanted % (room + 1));
          const counts = loads(hosts, demands, place(hosts, demands, previous));
          assert.equal(
            counts.reduce((sum, count) => sum + count, 0),
            demands.length,
          );
          assert.ok(counts.every((count, index) => count <= rooms[index]!));
        },
      ),
    );
  });

  it("moves nobody when members come and go, or hosts are added", () => {
    fc.assert(
      fc.property(
        someHosts,
        somePools,
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        (hosts, pools, keeps) => {
          const before = pools.flat();
          const placements = place(hosts, before, {});
          const stay = before.filter((_, index) => keeps[index]);
          const after = [...poolOf("new", 3), ...stay, ...poolOf("other", 2)];
          const more = [...hostsOf("a-new-one"), ...hosts, ...hostsOf("z-new-one")];
          const next = place(more, after, placements);
          for (const { name } of stay) assert.equal(next[name], placements[name]);
          assert.equal(Object.keys(next).length, after.length);
        },
      ),
    );
  });

  it("grows a new pool without moving its members even when nothing is known of before", () => {
    const hosts = hostsOf("a", "b", "c");
    const five = place(hosts, poolOf("p", 5), {});
    const seven = place(hosts, poolOf("p", 7), {});
    for (const [name, host] of Object.entries(five)) assert.equal(seven[name], host);
  });

  it("moves only the members of a host that is gone", () => {
    const demands = poolOf("p", 6);
    const before = place(hostsOf("a", "b", "c"), demands, {});
    const after = place(hostsOf("a", "c"), demands, before);
    const moved = demands.filter(({ name }) => before[name] !== after[name]);
    assert.deepEqual(
      moved.map(({ name }) => before[name]),
      ["b", "b"],
    );
    assert.deepEqual(loads(hostsOf("a", "c"), demands, after), [3, 3]);
  });

  it("fills the emptier host with newcomers", () => {
    const before = place(hostsOf("a"), poolOf("p", 2), {});
    const after = place(hostsOf("a", "b"), poolOf("p", 4), before);
    assert.deepEqual(loads(hostsOf("a", "b"), poolOf("p", 4), after), [2, 2]);
  });

  it("puts members where their host or zone says, also against where they were", () => {
    const hosts = [
      { name: "a", zone: "east" },
      { name: "b", zone: "west" },
      { name: "c", zone: "west" },
    ];
    const demands = [
      { name: "p-1", pool: "p", host: "c" },
      { name: "p-2", pool: "p", zone: "west" },
      { name: "p-3", pool: "p", zone: "east" },
    ];
    assert.deepEqual(place(hosts, demands, { "p-1": "a", "p-2": "a", "p-3": "c" }), {
      "p-1": "c",
      "p-2": "b",
      "p-3": "a",
    });
  });

  it("makes room on a full host for a member that has to run there, moving one that need not", () => {
    const hosts = [
      { name: "a", zone: "east", maxMachines: 1 },
      { name: "b", maxMachines: 2 },
    ];
    const demands = [...poolOf("p", 2), { name: "q-1", pool: "q", zone: "east" }];
    assert.deepEqual(place(hosts, demands, { "p-1": "a", "p-2": "b" }), {
      "p-1": "b",
      "p-2": "b",
      "q-1": "a",
    });
  });

  it("always finds a placement where one exists, whatever was before", () => {
    const zoned = fc.record({ room: fc.nat(2), zone: fc.constantFrom("east", "west") });
    const fixture = fc.array(zoned, { minLength: 1, maxLength: 4 }).chain((specs) => {
      // One demand for each free place, of the host, its zone or anything: so it fits, and exactly.
      const places = specs.flatMap(({ room, zone }, index) =>
        Array.from({ length: room }, () => ({ host: `h${index}`, zone })),
      );
      const kinds = fc.array(fc.constantFrom("host", "zone", "free"), {
        minLength: places.length,
        maxLength: places.length,
      });
      const befores = fc.array(fc.nat(specs.length), { minLength: places.length, maxLength: places.length });
      return fc.record({ specs: fc.constant(specs), places: fc.constant(places), kinds, befores });
    });
    fc.assert(
      fc.property(fixture, ({ specs, places, kinds, befores }) => {
        const hosts = specs.map(({ room, zone }, index) => ({ name: `h${index}`, zone, maxMachines: room }));
        const demands = places.map(({ host, zone }, index): PlacementDemand => {
          const base = { name: `m-${index}`, pool: "m" };
          return kinds[index] === "host"
            ? { ...base, host }
            : kinds[index] === "zone"
              ? { ...base, zone }
              : base;
        });
        const previous = Object.fromEntries(befores.map((before, index) => [`m-${index}`, `h${before}`]));
        assert.deepEqual(
          loads(hosts, demands, place(hosts, demands, previous)),
          specs.map(({ room }) => room),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("says who finds no room", () => {
    assert.throws(
      () => place([{ name: "a", maxMachines: 1 }], poolOf("p", 2), {}),
      (error) => error instanceof PermanentError && error.reason === "NoCapacity" && error.where === "p-2",
    );
  });
});
