import assert from "node:assert/strict";
import { LibvirtProtocolError } from "@egress-proxies/providers/libvirt/errors";
import { XdrReader, XdrWriter } from "@egress-proxies/providers/libvirt/xdr";
import fc from "fast-check";

function written(write: (writer: XdrWriter) => void): Buffer {
  const writer = new XdrWriter();
  write(writer);
  return writer.finish();
}

describe("XDR", () => {
  it("writes numbers as RFC 4506 lays them out", () => {
    assert.equal(written((w) => w.int(-2)).toString("hex"), "fffffffe");
    assert.equal(written((w) => w.uint(0x01020304)).toString("hex"), "01020304");
    assert.equal(written((w) => w.hyper(-1n)).toString("hex"), "ffffffffffffffff");
    assert.equal(written((w) => w.uhyper(258n)).toString("hex"), "0000000000000102");
    assert.equal(written((w) => w.double(1)).toString("hex"), "3ff0000000000000");
    assert.equal(written((w) => w.bool(true)).toString("hex"), "00000001");
  });

  it("writes the file of the RFC's example as the RFC does", () => {
    const bytes = written((w) => {
      w.string("sillyprog", 255);
      w.uint(2);
      w.string("lisp", 255);
      w.string("john", 32);
      w.opaque(Buffer.from("(quit)"), 65_535);
    });
    const expected =
      "000000097369 6c6c7970726f67000000 00000002 000000046c697370 000000046a6f686e 000000062871756974290000";
    assert.equal(bytes.toString("hex"), expected.replaceAll(" ", ""));
  });

  it("reads back what it wrote", () => {
    const value = fc.record({
      int: fc.integer({ min: -0x80000000, max: 0x7fffffff }),
      uint: fc.integer({ min: 0, max: 0xffffffff }),
      hyper: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      uhyper: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      double: fc.double(),
      bool: fc.boolean(),
      string: fc.string({ unit: "grapheme", maxLength: 600 }).filter((text) => !text.includes("\0")),
      opaque: fc.uint8Array({ maxLength: 600 }),
    });
    fc.assert(
      fc.property(value, (v) => {
        const bytes = written((w) => {
          w.int(v.int);
          w.uint(v.uint);
          w.string(v.string, 10_000);
          w.hyper(v.hyper);
          w.opaque(v.opaque, 600);
          w.uhyper(v.uhyper);
          w.double(v.double);
          w.bool(v.bool);
        });
        assert.equal(bytes.length % 4, 0);
        const r = new XdrReader(bytes);
        assert.equal(r.int(), v.int);
        assert.equal(r.uint(), v.uint);
        assert.equal(r.string(10_000), v.string);
        assert.equal(r.hyper(), v.hyper);
        assert.deepEqual(new Uint8Array(r.opaque(600)), v.opaque);
        assert.equal(r.uhyper(), v.uhyper);
        assert.equal(r.double(), v.double);
        assert.equal(r.bool(), v.bool);
        r.end();
      }),
    );
  });

  it("refuses a length beyond its limit, and one beyond the bytes left", () => {
    assert.throws(() => new XdrReader(Buffer.from("0000000900", "hex")).string(8), LibvirtProtocolError);
    assert.throws(
      () => new XdrReader(Buffer.from("ffffffff", "hex")).string(0xffffffff),
      LibvirtProtocolError,
    );
    assert.throws(
      () => new XdrReader(Buffer.from("00004000", "hex")).count(16_384, 24),
      LibvirtProtocolError,
    );
  });

  it("refuses padding that is not zero, missing padding, and odd booleans", () => {
    assert.throws(
      () => new XdrReader(Buffer.from("0000000161000001", "hex")).string(8),
      LibvirtProtocolError,
    );
    assert.throws(() => new XdrReader(Buffer.from("0000000161", "hex")).string(8), LibvirtProtocolError);
    assert.throws(() => new XdrReader(Buffer.from("00000002", "hex")).bool(), LibvirtProtocolError);
  });

  it("refuses bytes that are left over", () => {
    assert.throws(() => new XdrReader(Buffer.alloc(4)).end(), LibvirtProtocolError);
  });

  it("refuses values that do not fit", () => {
    const misfits: ((w: XdrWriter) => void)[] = [
      (w) => w.int(2 ** 31),
      (w) => w.int(1.5),
      (w) => w.int(Number.NaN),
      (w) => w.uint(-1),
      (w) => w.uint(2 ** 32),
      (w) => w.hyper(2n ** 63n),
      (w) => w.uhyper(-1n),
      (w) => w.uhyper(2n ** 64n),
      (w) => w.string("12345", 4),
      (w) => w.string("ends here\0not here", 100),
    ];
    for (const misfit of misfits) assert.throws(() => written(misfit), LibvirtProtocolError);
  });

  it("counts a string's limit in bytes, not in characters", () => {
    assert.throws(() => written((w) => w.string("ääää", 7)), LibvirtProtocolError);
    assert.equal(new XdrReader(written((w) => w.string("ääää", 8))).string(8), "ääää");
  });
});
