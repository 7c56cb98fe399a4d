import assert from "node:assert/strict";
import { identifierProblem } from "@egress-proxies/providers/machine/identifier";
import fc from "fast-check";
import { parseConfig } from "../../../stacks/config/parse";
import { listing } from "../../../stacks/config/problem";
import type { RawConfig } from "../../../stacks/config/rules/rule";
import { directImage } from "../../../stacks/plan/image";
import { plan } from "../../../stacks/plan/plan";
import { context, entry, host, pool, sample } from "./sample";

const digest = "0123456789abcdef".repeat(4);
const image = { url: "https://example.org/a.qcow2", sha256: digest };

function machinesOf(raw: RawConfig) {
  const result = parseConfig(raw, context);
  if ("problems" in result) assert.fail(listing(result.problems));
  return plan(result.config, { ...context, previous: {}, files: {} }).flatMap(({ proxies }) =>
    proxies.flatMap((proxy) => (proxy.mode === "Managed" ? [proxy.machine] : [])),
  );
}

function problemsOf(placed: unknown) {
  const result = parseConfig(sample({ crawl: pool({ size: 1, placement: { image: placed } }) }), context);
  return "problems" in result ? result.problems : [];
}

describe("an image that a placement gives itself", () => {
  it("goes to the pool's machines with a key that begins with its digest", () => {
    const [machine] = machinesOf(sample({ crawl: pool({ size: 1, placement: { image } }) }));
    assert.match(machine!.image.key, /^sha256-0123456789abcdef-[0-9a-f]{8}$/);
    assert.deepEqual(machine!.image, { ...image, key: machine!.image.key });
    assert.equal(machine!.firmware, "uefi");
  });

  it("needs no images in the entry, and may be a member's alone", () => {
    const members = { a: null, b: { placement: { image } } };
    const { images: _, ...bare } = entry([host("lab1")]);
    const own = pool({ members: { b: members.b }, placement: {} });
    assert.equal(machinesOf({ providers: { lab: bare }, pools: { crawl: own } }).length, 1);
    const [a, b] = machinesOf(sample({ crawl: pool({ members }) }));
    assert.equal(a!.image.key, "debian-12");
    assert.match(b!.image.key, /^sha256-/);
  });

  it("says what boots it, over what the machine type says", () => {
    const machineTypes = { small: { vcpus: 1, memoryMiB: 512, diskGiB: 8, firmware: "uefi" } };
    const raw = {
      providers: { lab: entry([host("lab1")], { machineTypes }) },
      pools: {
        crawl: pool({
          members: { a: null, b: { placement: { image: { ...image, firmware: "bios" } } } },
        }),
      },
    };
    assert.deepEqual(
      machinesOf(raw).map(({ firmware }) => firmware),
      ["uefi", "bios"],
    );
  });

  it("has a key that is a name, one for one text, whatever is written", () => {
    const texts = fc.record({
      url: fc.string(),
      sha256: fc.oneof(fc.string(), fc.constant(digest), fc.constant(digest.toUpperCase())),
    });
    fc.assert(
      fc.property(texts, texts, (one, two) => {
        const [a, b] = [directImage(one).key, directImage(two).key];
        assert.equal(identifierProblem(a), undefined);
        assert.equal(a === b, one.url === two.url && one.sha256 === two.sha256);
      }),
    );
  });

  it("gets another key with another location, digest or checksum file, so that nothing is in conflict", () => {
    const written = [
      image,
      { ...image, url: "https://mirror.example.org/a.qcow2" },
      { ...image, sha256: "f".repeat(64) },
      { ...image, sha256: "https://example.org/SHA256SUMS" },
      { ...image, sha256: "SHA256SUMS" },
    ];
    const keys = written.map((each) => directImage(each).key);
    assert.equal(new Set(keys).size, written.length);
    assert.match(keys[3]!, /^url-[0-9a-f]{16}$/);
  });

  const cases: [string, unknown, Record<string, RegExp>][] = [
    ["without a digest", { url: image.url }, { ".sha256": /is required/ }],
    ["with a wrong digest", { ...image, sha256: "ab".repeat(20) }, { ".sha256": /64 hex digits/ }],
    [
      "with a password in its URL",
      { ...image, url: "https://u:p@example.org/x" },
      { ".url": /without user/ },
    ],
    ["of unknown firmware", { ...image, firmware: "efi" }, { ".firmware": /none of the possible values/ }],
    ["with an unknown option", { ...image, sha265: "x" }, { ".sha265": /Did you mean sha256/ }],
    [
      "wrong in several ways",
      { url: 5, sha: "x" },
      { ".sha": /not an option/, ".sha256": /required/, ".url": /a text/ },
    ],
    ["that is a number", 12, { "": /must be a text or a map/ }],
    ["that is a list", [image], { "": /must be a text or a map/ }],
    ["that is no key of the entry", "debian-13", { "": /no such image/ }],
  ];
  for (const [what, placed, expected] of cases) {
    it(`is refused ${what}, at its place`, () => {
      const problems = problemsOf(placed);
      const at = "egress:pools.crawl.placement.image";
      assert.deepEqual(
        problems.map(({ path }) => path),
        Object.keys(expected).map((path) => at + path),
        listing(problems),
      );
      for (const [index, pattern] of Object.values(expected).entries()) {
        assert.match(listing([problems[index]!]), pattern);
      }
    });
  }
});
