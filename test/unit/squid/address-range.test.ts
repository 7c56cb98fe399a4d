import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import {
  type AddressRange,
  contains,
  formatRange,
  intersect,
  normalize,
  parseCidr,
  subtract,
} from "@egress-proxies/providers/squid/address-range";
import fc from "fast-check";

function cidr(text: string): AddressRange {
  const parsed = parseCidr(text);
  assert.ok(!("problem" in parsed), text);
  return parsed;
}

const anyCidr: fc.Arbitrary<AddressRange> = fc
  .constantFrom<4 | 6>(4, 6)
  .chain((family) => {
    const bits = family === 4 ? 32 : 128;
    return fc
      .tuple(fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }), fc.integer({ min: 1, max: bits }))
      .map(([address, prefix]) => {
        const size = 1n << BigInt(bits - prefix);
        const first = address - (address % size);
        return { family, first, last: first + size - 1n };
      });
  })
  .filter(({ family, first }) => family === 4 || first >> 32n !== 0xffffn);

describe("parseCidr", () => {
  it("reads addresses and ranges, and writes them in one form", () => {
    const forms: [string, string][] = [
      ["10.0.0.0/8", "10.0.0.0/8"],
      ["192.0.2.7", "192.0.2.7/32"],
      ["2001:DB8::/32", "2001:db8::/32"],
      ["2001:db8:0:0:1:0:0:0", "2001:db8:0:0:1::/128"],
      ["::", "::/128"],
      ["::1", "::1/128"],
      ["1::", "1::/128"],
      ["64:ff9b::192.0.2.1", "64:ff9b::c000:201/128"],
      ["fe80::/10", "fe80::/10"],
      ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7/128"],
    ];
    for (const [given, written] of forms) assert.equal(formatRange(cidr(given)), written);
  });

  it("refuses what is no range", () => {
    const wrong = ["", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "1:2"];
    wrong.push(
      "1::2::3",
      ":::",
      "1:2:3:4:5:6:7:8:9",
      "12345::",
      "::/129",
      "fe80::1%eth0",
      "all",
      "10.0.0.0/8\n",
    );
    wrong.push("10.0.0.0/8 20.0.0.0/8", "::1.2.3", "1.2.3.4::", "1:2:3:4:5:6:7::8", ":1:2:3:4:5:6:7:8");
    for (const text of wrong) assert.ok("problem" in parseCidr(text), JSON.stringify(text));
  });

  it("says which network was meant where bits are set beyond the prefix", () => {
    const fault = parseCidr("10.1.2.3/8");
    assert.ok("remedy" in fault && fault.remedy.includes("10.0.0.0/8"), JSON.stringify(fault));
  });

  it("refuses IPv4 in the form of IPv6", () => {
    assert.ok("problem" in parseCidr("::ffff:10.0.0.1"));
  });

  it("takes exactly the addresses that Node takes, but for zones and mapped ones", () => {
    const piece = fc.constantFrom(
      "0",
      "1",
      "255",
      "256",
      "01",
      "f",
      "fffff",
      ":",
      "::",
      ".",
      "/",
      "1.2.3.4",
      "",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6(),
          fc.array(piece, { maxLength: 12 }).map((p) => p.join("")),
        ),
        (text) => {
          fc.pre(!text.includes("/"));
          const parsed = parseCidr(text);
          const mapped = "problem" in parsed && parsed.problem.includes("form of IPv6");
          assert.equal(!("problem" in parsed) || mapped, isIPv4(text) || isIPv6(text), text);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("reads back what formatRange writes", () => {
    fc.assert(fc.property(anyCidr, (range) => assert.deepEqual(parseCidr(formatRange(range)), range)));
  });
});

describe("ranges", () => {
  it("leave exactly the rest when others are cut out", () => {
    fc.assert(
      fc.property(
        anyCidr,
        fc.array(anyCidr, { maxLength: 4 }),
        fc.bigInt({ min: 0n }),
        (range, others, salt) => {
          // A hole within the range is what happens; others come from anywhere.
          const size = range.last - range.first + 1n;
          const single = (offset: bigint): AddressRange => {
            const address = range.first + (offset % size);
            return { family: range.family, first: address, last: address };
          };
          const holes = [single(salt), ...others];
          const rest = subtract(range, holes);
          for (const offset of [0n, size - 1n, salt, salt + 1n, salt + size - 1n, salt * 7919n]) {
            const address = single(offset);
            const isHole = holes.some((hole) => contains(hole, address));
            assert.equal(rest.filter((piece) => contains(piece, address)).length, isHole ? 0 : 1);
          }
          for (const piece of rest) assert.ok(contains(range, piece));
        },
      ),
    );
  });

  it("are written as first and last address where they are no CIDR", () => {
    assert.deepEqual(subtract(cidr("127.0.0.0/8"), [cidr("127.0.0.1")]).map(formatRange), [
      "127.0.0.0/32",
      "127.0.0.2-127.255.255.255",
    ]);
    assert.deepEqual(subtract(cidr("fc00::/7"), [cidr("fd00::5")]).map(formatRange), [
      "fc00::-fd00::4",
      "fd00::6-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ]);
  });

  it("are put in order, without those that lie within others", () => {
    const given = ["10.1.0.0/16", "::1", "10.0.0.0/8", "9.0.0.0/8", "10.0.0.0/8"].map(cidr);
    assert.deepEqual(normalize(given).map(formatRange), ["9.0.0.0/8", "10.0.0.0/8", "::1/128"]);
  });

  it("intersect in the smaller one or not at all", () => {
    assert.deepEqual(intersect(cidr("10.0.0.0/8"), cidr("10.1.0.0/16")).map(formatRange), ["10.1.0.0/16"]);
    assert.deepEqual(intersect(cidr("10.1.0.0/16"), cidr("8.0.0.0/6")).map(formatRange), ["10.1.0.0/16"]);
    assert.deepEqual(intersect(cidr("10.0.0.0/8"), cidr("11.0.0.0/8")), []);
    assert.deepEqual(intersect(cidr("0.0.0.0/8"), cidr("::/8")), []);
  });
});
