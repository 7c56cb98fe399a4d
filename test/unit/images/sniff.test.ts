import assert from "node:assert/strict";
import { detectCompression } from "@egress-proxies/providers/images/compression";
import { SNIFF_BYTES, sniffImage } from "@egress-proxies/providers/images/sniff";
import fc from "fast-check";

const SIZE = 1 << 20;

interface Qcow2Fields {
  version?: number;
  backingOffset?: bigint;
  virtualSize?: bigint;
  encryption?: number;
  l1Offset?: bigint;
  features?: bigint;
}

function qcow2(fields: Qcow2Fields = {}): Buffer {
  const head = Buffer.alloc(4096);
  head.write("QFI\xfb", "latin1");
  head.writeUInt32BE(fields.version ?? 3, 4);
  head.writeBigUInt64BE(fields.backingOffset ?? 0n, 8);
  head.writeUInt32BE(16, 20);
  head.writeBigUInt64BE(fields.virtualSize ?? 10n << 30n, 24);
  head.writeUInt32BE(fields.encryption ?? 0, 32);
  head.writeUInt32BE(20, 36);
  head.writeBigUInt64BE(fields.l1Offset ?? 196608n, 40);
  head.writeBigUInt64BE(65536n, 48);
  head.writeBigUInt64BE(fields.features ?? 0n, 72);
  return head;
}

function raw(...marks: [number, string][]): Buffer {
  const head = Buffer.alloc(SNIFF_BYTES);
  for (const [offset, text] of marks) head.write(text, offset, "latin1");
  return head;
}

describe("sniffImage", () => {
  it("recognises qcow2 of both versions and their virtual size", () => {
    for (const version of [2, 3]) {
      const kind = sniffImage(qcow2({ version }), SIZE, "here");
      assert.deepEqual(kind, { format: "qcow2", virtualSize: 10 * 1024 ** 3 });
    }
  });

  it("does not read version 3's features in a version 2 header", () => {
    assert.equal(sniffImage(qcow2({ version: 2, features: 0xffn }), SIZE, "here").format, "qcow2");
  });

  it("recognises raw disks with an MBR or a GPT", () => {
    const mbr = raw([510, "\x55\xaa"]);
    assert.deepEqual(sniffImage(mbr, SIZE, "here"), { format: "raw", virtualSize: SIZE });
    for (const offset of [512, 4096]) {
      assert.equal(sniffImage(raw([offset, "EFI PART"]), SIZE, "here").format, "raw");
    }
  });

  const refused: [string, Buffer, string][] = [
    ["qcow2 with a backing file", qcow2({ backingOffset: 512n }), "UnsupportedImage"],
    ["encrypted qcow2", qcow2({ encryption: 2 }), "UnsupportedImage"],
    ["qcow2 with an external data file", qcow2({ features: 4n }), "UnsupportedImage"],
    ["qcow2 with unknown features", qcow2({ features: 1n << 40n }), "UnsupportedImage"],
    ["qcow2 of a version to come", qcow2({ version: 4 }), "UnsupportedImage"],
    ["qcow2 marked corrupt", qcow2({ features: 2n }), "CorruptImage"],
    ["qcow2 without a size", qcow2({ virtualSize: 0n }), "CorruptImage"],
    ["qcow2 of an impossible size", qcow2({ virtualSize: 1n << 63n }), "CorruptImage"],
    ["qcow2 cut before its tables", qcow2({ l1Offset: 1n << 30n }), "CorruptImage"],
    ["qcow2 cut in its header", qcow2().subarray(0, 80), "CorruptImage"],
    ["HTML", Buffer.from("\n <!DOCTYPE html><html>"), "NotAnImage"],
    ["zeros", raw(), "NotAnImage"],
    ["nothing", Buffer.alloc(0), "NotAnImage"],
    ["text", Buffer.from("404 not found"), "NotAnImage"],
    ["VMDK", raw([0, "KDMV"], [510, "\x55\xaa"]), "UnsupportedImage"],
    ["tar", raw([257, "ustar"]), "UnsupportedImage"],
    ["a bootable ISO", raw([510, "\x55\xaa"], [32769, "CD001"]), "UnsupportedImage"],
  ];
  for (const [what, head, reason] of refused) {
    it(`refuses ${what}`, () =>
      assert.throws(() => sniffImage(head, SIZE, "here"), { reason, where: "here" }));
  }

  it("refuses a raw disk that ends within a sector", () => {
    assert.throws(() => sniffImage(raw([510, "\x55\xaa"]), SIZE + 1, "here"), { reason: "CorruptImage" });
  });

  it("answers or refuses with a reason, whatever the bytes", () => {
    const bytes = fc.tuple(
      fc.constantFrom("", "QFI\xfb", "QFI\xfb\0\0\0\x03"),
      fc.uint8Array({ maxLength: 600 }),
    );
    fc.assert(
      fc.property(bytes, ([start, rest]) => {
        const head = Buffer.concat([Buffer.from(start, "latin1"), rest]);
        try {
          assert.ok(sniffImage(head, head.length, "here").virtualSize > 0);
        } catch (error) {
          assert.ok("reason" in (error as object), String(error));
        }
      }),
    );
  });
});

describe("detectCompression", () => {
  it("knows the four by their magic, and takes nothing else for them", () => {
    const of = (hex: string) => detectCompression(Buffer.from(hex, "hex"));
    assert.equal(of("1f8b0800000000000003"), "gz");
    assert.equal(of("fd377a585a000004e6d6"), "xz");
    assert.equal(of("425a6839314159265359"), "bz2");
    assert.equal(of("28b52ffd2400"), "zst");
    assert.equal(of("425a6839000000000000"), undefined);
    assert.equal(of("514649fb00000003"), undefined);
    assert.equal(of(""), undefined);
  });
});
