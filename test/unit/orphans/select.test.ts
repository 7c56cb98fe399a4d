import assert from "node:assert/strict";
import type { Inventory, SeenVolume } from "@egress-proxies/providers/kvm/inventory";
import { overlayName, seedName } from "@egress-proxies/providers/kvm/names";
import { type Known, ownerKey, selectOrphans } from "@egress-proxies/providers/kvm/orphans";
import { volumeOwner } from "@egress-proxies/providers/kvm/volume-owner";
import { machineUuid, type Owner } from "@egress-proxies/providers/machine/owner";
import fc from "fast-check";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const options = { project: "mine", now: NOW, graceMs: 24 * HOUR, bases: false };
const nothing: Known = { owners: new Set(), images: new Set() };

const owner = (name: string, project = "mine", stack = "dev"): Owner => ({ project, stack, name });
const volume = (name: string, ageHours = 100, xml = `<volume><name>${name}</name></volume>`): SeenVolume => ({
  pool: "default",
  name,
  bytes: 10,
  modified: NOW - ageHours * HOUR,
  xml,
});

function machine(whose: Owner, ageHours = 100) {
  const [disk, seed] = [overlayName(whose), seedName(whose)];
  const record = { ...whose, entry: "lab", specHash: "0".repeat(32) };
  const xml = `<domain>${disk} ${seed}</domain>`;
  return {
    domain: { name: whose.name, uuid: machineUuid(whose), record, xml },
    // What runs is written to all the time.
    volumes: [volume(disk, 0), volume(seed, ageHours)],
  };
}

function inventory(change: Partial<Inventory> = {}): Inventory {
  return { domains: [], unreadable: [], volumes: [], markers: [], ...change };
}

const of = (...machines: ReturnType<typeof machine>[]) =>
  inventory({
    domains: machines.map(({ domain }) => domain),
    volumes: machines.flatMap(({ volumes }) => volumes),
  });
const known = (...owners: Owner[]): Known => ({ ...nothing, owners: new Set(owners.map(ownerKey)) });

const TOKEN = "0123456789ab-1f-2a";
const base = {
  pool: "default",
  name: "base-debian.json",
  marker: {
    version: 1 as const,
    key: "debian",
    volume: `base-debian.${TOKEN}-00000000.qcow2`,
    path: `/images/base-debian.${TOKEN}-00000000.qcow2`,
    sha256: "0".repeat(64),
    size: 10,
    format: "qcow2" as const,
    virtualSize: 10,
    source: { url: "https://example.org/debian", sha256: "0".repeat(64), sha512: "0".repeat(128) },
    publisher: "p",
    published: "2026-01-01T00:00:00Z",
  },
};

describe("selectOrphans", () => {
  const whose = owner("dev-crawl-1");

  it("finds a machine that no stack has, with its volumes, size and the age of its last build", () => {
    const [found, ...more] = selectOrphans(of(machine(whose)), nothing, options);
    assert.deepEqual(more, []);
    assert.equal(found?.kind, "machine");
    assert.deepEqual(found?.owner, whose);
    assert.deepEqual(
      found?.volumes.map(({ name }) => name),
      [overlayName(whose), seedName(whose)],
    );
    assert.deepEqual([found?.bytes, found?.ageMs, found?.keep], [20, 100 * HOUR, undefined]);
  });

  it("passes by what a stack has, and what is another project's", () => {
    assert.deepEqual(selectOrphans(of(machine(whose)), known(whose), options), []);
    assert.deepEqual(selectOrphans(of(machine(owner("dev-crawl-1", "theirs"))), nothing, options), []);
  });

  it("passes by a clone that carries a copy of the record", () => {
    const { domain, volumes } = machine(whose);
    const clone = { ...domain, name: "copy", uuid: "00000000-0000-4000-8000-000000000000" };
    assert.deepEqual(selectOrphans(inventory({ domains: [clone], volumes }), nothing, options), []);
  });

  it("finds a disk and a seed whose machine is gone, by the digest in their names", () => {
    const found = selectOrphans(
      inventory({
        volumes: [
          volume(overlayName(whose)),
          volume(seedName(whose)),
          volume("dev-crawl-1-0000000000.qcow2"),
        ],
      }),
      nothing,
      options,
    );
    assert.deepEqual(found.map(({ name }) => name).sort(), [overlayName(whose), seedName(whose)].sort());
    assert.deepEqual(
      volumeOwner("mine", overlayName(owner("a-b-pool-1", "mine", "a-b"))),
      owner("a-b-pool-1", "mine", "a-b"),
    );
    assert.equal(volumeOwner("theirs", overlayName(whose)), undefined);
  });

  const cases: [string, Partial<Inventory>, Partial<typeof options>, RegExp | undefined][] = [
    ["younger than the grace", { volumes: [volume(seedName(whose), 23)] }, {}, /younger/],
    ["as old as the grace", { volumes: [volume(seedName(whose), 24)] }, {}, undefined],
    ["of a future by the host's clock", { volumes: [volume(seedName(whose), -9)] }, {}, /younger/],
    [
      "of unknown age",
      { volumes: [{ pool: "default", name: seedName(whose), bytes: 1, xml: "" }] },
      {},
      /unknown.*--grace 0/,
    ],
    ["of any age without a grace", { volumes: [volume(seedName(whose), 0)] }, { graceMs: 0 }, undefined],
    [
      "that another domain uses",
      {
        volumes: [volume(overlayName(whose))],
        domains: [{ name: "rescue", uuid: "u", xml: `<source file="/x/${overlayName(whose)}"/>` }],
      },
      { graceMs: 0 },
      /in use by rescue/,
    ],
    [
      "that an unreadable domain may use",
      { volumes: [volume(overlayName(whose))], unreadable: ["odd"] },
      { graceMs: 0 },
      /odd, which cannot be read/,
    ],
  ];
  for (const [what, change, how, expected] of cases) {
    it(`${expected === undefined ? "offers" : "keeps"} a volume ${what}`, () => {
      const [found] = selectOrphans(inventory(change), nothing, { ...options, ...how });
      if (expected === undefined) assert.equal(found?.keep, undefined);
      else assert.match(found?.keep ?? "", expected);
      assert.ok(found);
    });
  }

  it("finds a base that nobody uses, and offers it only where bases are asked for; marker first", () => {
    const there = inventory({ markers: [base], volumes: [volume(base.marker.volume), volume(base.name)] });
    const [found, ...more] = selectOrphans(there, nothing, options);
    assert.deepEqual(more, []);
    assert.match(found?.keep ?? "", /--bases/);
    assert.deepEqual(
      found?.volumes.map(({ name }) => name),
      [base.name, base.marker.volume],
    );
    assert.equal(selectOrphans(there, nothing, { ...options, bases: true })[0]?.keep, undefined);
    assert.deepEqual(selectOrphans(there, { ...nothing, images: new Set(["debian"]) }, options), []);
    const overlay = volume("theirs.qcow2", 100, `<backingStore>${base.marker.path}</backingStore>`);
    assert.deepEqual(
      selectOrphans({ ...there, volumes: [...there.volumes, overlay] }, nothing, { ...options, bases: true }),
      [],
    );
  });

  it("finds an upload that no marker names, and nothing that only looks like one", () => {
    const names = [`base-x.${TOKEN}-11111111.qcow2`, "base-x.qcow2", "base-x.mine-11111111.qcow2"];
    const found = selectOrphans(inventory({ volumes: names.map((name) => volume(name)) }), nothing, options);
    assert.deepEqual(
      found.map(({ kind, name }) => [kind, name]),
      [["debris", names[0]]],
    );
  });

  it("never touches what a stack has or another project's, whatever else lies there", () => {
    const member = fc.record({
      project: fc.constantFrom("mine", "theirs"),
      stack: fc.constantFrom("dev", "a-b", "a"),
      name: fc.constantFrom("dev-p-1", "a-b-p-1", "a-p-1", "a-b-1"),
      age: fc.integer({ min: -5, max: 200 }),
      inStack: fc.boolean(),
      domain: fc.boolean(),
      disk: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(member, { maxLength: 12 }), fc.boolean(), (members, bases) => {
        const seen = members.map(({ project, stack, name, age }) => machine({ project, stack, name }, age));
        const there = inventory({
          domains: seen.filter((_, i) => members[i]?.domain).map(({ domain }) => domain),
          volumes: seen.filter((_, i) => members[i]?.disk).flatMap(({ volumes }) => volumes),
        });
        const kept = members
          .filter(({ inStack }) => inStack)
          .map(({ project, stack, name }) => ({ project, stack, name }));
        const found = selectOrphans(there, known(...kept), { ...options, bases });
        const safe = new Set(kept.flatMap((one) => [overlayName(one), seedName(one)]));
        for (const orphan of found) {
          assert.equal(orphan.owner?.project, "mine");
          assert.ok(!kept.some((one) => orphan.owner && ownerKey(one) === ownerKey(orphan.owner)));
          assert.ok(orphan.volumes.every(({ name }) => !safe.has(name)));
          if (orphan.keep === undefined)
            assert.ok(orphan.ageMs !== undefined && orphan.ageMs >= options.graceMs);
        }
      }),
    );
  });
});
