import assert from "node:assert/strict";
import { LibvirtProtocolError } from "@egress-proxies/providers/libvirt/errors";
import { encodeHeader, type Frame, FrameParser, MESSAGE_MAX } from "@egress-proxies/providers/libvirt/frame";
import fc from "fast-check";

const uint = fc.integer({ min: 0, max: 0xffffffff });
const anyFrame: fc.Arbitrary<Frame> = fc.record(
  {
    program: uint,
    procedure: fc.integer({ min: -0x80000000, max: 0x7fffffff }),
    type: uint,
    serial: uint,
    status: uint,
    payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  },
  { noNullPrototype: true },
);

function wire(frames: Frame[]): Buffer {
  return Buffer.concat(frames.flatMap((frame) => [encodeHeader(frame, frame.payload.length), frame.payload]));
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => {
    bytes.writeUInt32BE(value, 4 * at);
  });
  return bytes;
}

describe("framing", () => {
  it("lays out the header as libvirt does", () => {
    const header = encodeHeader({ program: 0x20008086, procedure: 23, type: 0, serial: 5, status: 0 }, 8);
    assert.deepEqual(header, words(36, 0x20008086, 1, 23, 0, 5, 0));
  });

  it("finds the frames however the bytes are split", () => {
    const cuts = fc.array(fc.nat(2000), { maxLength: 40 });
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 6 }), cuts, (frames, at) => {
        const bytes = wire(frames);
        const edges = [0, ...at.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const parser = new FrameParser();
        const found = edges.slice(1).flatMap((end, i) => parser.push(bytes.subarray(edges[i], end)));
        assert.deepEqual(found, frames);
        assert.equal(parser.partial, false);
      }),
    );
  });

  it("finds them byte by byte", () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 3 }), (frames) => {
        const parser = new FrameParser();
        const found = [...wire(frames)].flatMap((byte) => parser.push(Buffer.from([byte])));
        assert.deepEqual(found, frames);
      }),
    );
  });

  it("knows that a frame has begun and not ended", () => {
    const parser = new FrameParser();
    const bytes = wire([
      { program: 1, procedure: 1, type: 1, serial: 1, status: 0, payload: Buffer.alloc(8) },
    ]);
    assert.deepEqual(parser.push(bytes.subarray(0, bytes.length - 1)), []);
    assert.equal(parser.partial, true);
    assert.equal(parser.push(bytes.subarray(-1)).length, 1);
    assert.equal(parser.partial, false);
  });

  it("refuses a length that holds no header, one beyond 32 MiB, and another version", () => {
    assert.throws(() => new FrameParser().push(words(27)), LibvirtProtocolError);
    assert.throws(() => new FrameParser().push(words(0)), LibvirtProtocolError);
    assert.throws(() => new FrameParser().push(words(MESSAGE_MAX + 5)), LibvirtProtocolError);
    assert.throws(() => new FrameParser().push(words(28, 0x20008086, 2, 1, 1, 1, 0)), LibvirtProtocolError);
  });

  it("takes no memory for the length alone", () => {
    const before = process.memoryUsage().arrayBuffers;
    const parsers = Array.from({ length: 50 }, () => new FrameParser());
    for (const parser of parsers) assert.deepEqual(parser.push(words(MESSAGE_MAX + 4)), []);
    assert.ok(process.memoryUsage().arrayBuffers - before < MESSAGE_MAX);
  });

  it("refuses to send a message beyond the limit", () => {
    const header = { program: 1, procedure: 1, type: 0, serial: 1, status: 0 };
    assert.throws(() => encodeHeader(header, MESSAGE_MAX), LibvirtProtocolError);
  });

  it("random bytes give frames or a LibvirtProtocolError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        try {
          new FrameParser().push(Buffer.from(bytes));
        } catch (error) {
          if (!(error instanceof LibvirtProtocolError)) throw error;
        }
      }),
    );
  });
});
