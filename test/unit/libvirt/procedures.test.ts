import assert from "node:assert/strict";
import {
  array,
  type Codec,
  optional,
  string,
  struct,
  uhyper,
  uuid,
} from "@egress-proxies/providers/libvirt/codec";
import { LibvirtProtocolError } from "@egress-proxies/providers/libvirt/errors";
import { procedures, remoteError } from "@egress-proxies/providers/libvirt/procedures";
import { byName, TypedParamType, typedParams } from "@egress-proxies/providers/libvirt/typed-param";
import fc from "fast-check";
import { DOMAIN, decode, encode } from "./fake-daemon";

const allCodecs: [string, Codec<never>][] = Object.entries(procedures).flatMap(([name, { args, result }]) => [
  [`${name} arguments`, args as Codec<never>],
  [`${name} result`, result as Codec<never>],
]);
allCodecs.push(["remote_error", remoteError as Codec<never>]);

const text = fc.string({ unit: "grapheme", maxLength: 40 }).filter((value) => !value.includes("\0"));
const anyUuid = fc.uuid().map((value) => value.toLowerCase());
const int = fc.integer({ min: -0x80000000, max: 0x7fffffff });
const uint = fc.integer({ min: 0, max: 0xffffffff });

function roundTrips<T>(codec: Codec<T>, values: fc.Arbitrary<T>): void {
  fc.assert(fc.property(values, (value) => assert.deepEqual(decode(codec, encode(codec, value)), value)));
}

describe("libvirt's messages", () => {
  for (const [name, codec] of allCodecs) {
    it(`${name}: random bytes give a value or a LibvirtProtocolError`, () => {
      // Small words make lengths, flags and unions that get past the first check.
      const word = fc.oneof(fc.integer({ min: 0, max: 8 }), uint).map((value) => {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(value);
        return bytes;
      });
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 300 }).map((values) => Buffer.from(values)),
        fc.array(word, { maxLength: 80 }).map((words) => Buffer.concat(words)),
      );
      fc.assert(
        fc.property(bytes, (input) => {
          try {
            decode(codec, input);
          } catch (error) {
            if (!(error instanceof LibvirtProtocolError)) throw error;
          }
        }),
      );
    });
  }

  it("round trip: errors, with and without their optional parts", () => {
    const domain = fc.record({ name: text, uuid: anyUuid, id: int }, { noNullPrototype: true });
    roundTrips(
      remoteError,
      fc.record(
        {
          code: int,
          domain: int,
          level: int,
          int1: int,
          int2: int,
          message: text,
          dom: domain,
          str1: text,
          str2: text,
          str3: text,
          net: fc.record({ name: text, uuid: anyUuid }, { noNullPrototype: true }),
        },
        { requiredKeys: ["code", "domain", "level", "int1", "int2"], noNullPrototype: true },
      ),
    );
  });

  it("round trip: leases, with and without their optional parts", () => {
    const lease = fc.record(
      {
        iface: text,
        expiry: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        type: int,
        mac: text,
        iaid: text,
        ipaddr: text,
        prefix: uint,
        hostname: text,
        clientid: text,
      },
      { requiredKeys: ["iface", "expiry", "type", "ipaddr", "prefix"], noNullPrototype: true },
    );
    roundTrips(
      procedures.networkGetDhcpLeases.result,
      fc.record({ leases: fc.array(lease, { maxLength: 5 }), count: uint }, { noNullPrototype: true }),
    );
  });

  it("round trip: typed parameters of every type", () => {
    const value = fc.oneof(
      fc.record({ type: fc.constant(TypedParamType.INT), value: int }),
      fc.record({ type: fc.constant(TypedParamType.UINT), value: uint }),
      fc.record({ type: fc.constant(TypedParamType.LLONG), value: fc.bigInt({ min: -5n, max: 5n }) }),
      fc.record({
        type: fc.constant(TypedParamType.ULLONG),
        value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      }),
      fc.record({ type: fc.constant(TypedParamType.DOUBLE), value: fc.double() }),
      fc.record({ type: fc.constant(TypedParamType.BOOLEAN), value: fc.boolean() }),
      fc.record({ type: fc.constant(TypedParamType.STRING), value: text }),
    );
    const param = fc.tuple(text, value).map(([field, rest]) => ({ field, ...rest }));
    roundTrips(typedParams, fc.array(param, { maxLength: 6 }));
  });

  it("typed parameters become an object by name", () => {
    const params = [
      { field: "state.state", type: TypedParamType.INT, value: 1 },
      { field: "net.0.rx.bytes", type: TypedParamType.ULLONG, value: 7n },
    ];
    assert.deepEqual(byName(params), { "state.state": 1, "net.0.rx.bytes": 7n });
  });

  it("an unknown type of typed parameter is refused", () => {
    assert.throws(() => encode(typedParams, [{ field: "x", type: 8, value: 1 }]), LibvirtProtocolError);
  });

  it("a UUID is 16 bytes on the wire and lower case in text", () => {
    const bytes = encode(uuid, "C7A5FDBD-EDAF-9455-926A-D65C16DB1809");
    assert.equal(bytes.toString("hex"), "c7a5fdbdedaf9455926ad65c16db1809");
    assert.equal(decode(uuid, bytes), "c7a5fdbd-edaf-9455-926a-d65c16db1809");
    assert.throws(() => encode(uuid, "c7a5fdbd"), LibvirtProtocolError);
  });

  it("an absent optional field is an absent property", () => {
    const codec = struct({ name: string, note: optional(string) });
    assert.deepEqual(Object.keys(decode(codec, encode(codec, { name: "a" }))), ["name"]);
    assert.deepEqual(decode(codec, encode(codec, { name: "a", note: "" })), { name: "a", note: "" });
  });

  it("an array's length is checked against the bytes left before anything is made", () => {
    const claim = Buffer.from("00004000", "hex");
    const codec = array(struct({ a: uhyper, b: uhyper }), 16_384);
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < 1000; round++)
      assert.throws(() => decode(codec, claim), LibvirtProtocolError);
    assert.ok(process.memoryUsage().heapUsed - before < 64 * 1024 * 1024);
  });

  it("a domain stands on the wire as name, uuid, id", () => {
    const bytes = encode(procedures.domainGetState.args, { domain: DOMAIN, flags: 0 });
    assert.equal(bytes.toString("hex"), "000000037765620011111111222233334444555555555555ffffffff00000000");
  });
});
