import assert from "node:assert/strict";
import {
  LibvirtClosedError,
  LibvirtError,
  LibvirtProtocolError,
  LibvirtTimeoutError,
  StreamLengthError,
} from "@egress-proxies/providers/libvirt/errors";
import { type Frame, MessageType, STREAM_PAYLOAD, Status } from "@egress-proxies/providers/libvirt/frame";
import { OUTBOX_BYTES } from "@egress-proxies/providers/libvirt/outbox";
import { procedures } from "@egress-proxies/providers/libvirt/procedures";
import type { CallRecord } from "@egress-proxies/providers/libvirt/types";
import fc from "fast-check";
import { connected, decode, errorPayload, type FakeDaemon, VOLUME } from "./fake-daemon";

const { storageVolUpload } = procedures;

function packets(daemon: FakeDaemon): Frame[] {
  return daemon.received.filter(({ type }) => type === MessageType.STREAM);
}

function bytesOf(daemon: FakeDaemon): Buffer {
  const data = packets(daemon).filter(({ status }) => status === Status.CONTINUE);
  return Buffer.concat(data.map(({ payload }) => payload));
}

const ended = (status: number) => (frame: Frame) =>
  frame.type === MessageType.STREAM && frame.status === status;

/** A daemon that takes the call, and confirms the end of the stream, however it ends. */
function takesUploads(daemon: FakeDaemon): void {
  daemon.on(storageVolUpload, (call) => {
    daemon.reply(call, storageVolUpload, {});
    void daemon
      .next((frame) => ended(Status.OK)(frame) || ended(Status.ERROR)(frame))
      .then(() => daemon.stream(call, Status.OK));
  });
}

async function* chunksOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** A source without an end that counts what was taken of it, and notes when it was let go. */
function endless(size = STREAM_PAYLOAD) {
  const state = { taken: 0, released: false };
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        state.taken += size;
        yield Buffer.alloc(size);
      }
    } finally {
      state.released = true;
    }
  }
  return { state, source: source() };
}

describe("an upload", () => {
  it("sends all bytes in order, whatever the size of the chunks, and finishes", async () => {
    const sizes = fc.array(fc.oneof(fc.nat(5), fc.nat(100_000), fc.nat(600_000)), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const { daemon, client } = await connected();
        takesUploads(daemon);
        const chunks = lengths.map((length, at) => Buffer.alloc(length, at + 1));
        const sent = await client.storageVolUpload(VOLUME, chunksOf(...chunks));
        assert.equal(sent, Buffer.concat(chunks).length);
        assert.ok(bytesOf(daemon).equals(Buffer.concat(chunks)));
        const data = packets(daemon).slice(0, -1);
        assert.ok(data.every(({ payload }) => payload.length > 0 && payload.length <= STREAM_PAYLOAD));
        assert.equal(packets(daemon).at(-1)?.status, Status.OK);
        await client.close();
      }),
      { numRuns: 30 },
    );
  });

  it("fills its packets, though the chunks are small", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    const chunks = Array.from({ length: 64 }, () => Buffer.alloc(65_536));
    await client.storageVolUpload(VOLUME, chunksOf(...chunks));
    const data = packets(daemon).slice(0, -1);
    assert.ok(data.slice(0, -1).every(({ payload }) => payload.length === STREAM_PAYLOAD));
    await client.close();
  });

  it("tells the daemon where to begin and how much will come", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    await client.storageVolUpload(VOLUME, chunksOf(Buffer.alloc(10)), { offset: 2n ** 40n, length: 10n });
    const call = await daemon.call(storageVolUpload);
    const args = { volume: VOLUME, offset: 2n ** 40n, length: 10n, flags: 0 };
    assert.deepEqual(decode(storageVolUpload.args, call.payload), args);
    assert.ok(packets(daemon).every(({ serial, procedure }) => serial === call.serial && procedure === 208));
    await client.close();
  });

  it("sends nothing before the daemon has agreed", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolUpload, (call) => daemon.replyError(call, 50, "no such volume"));
    const { state, source } = endless();
    await assert.rejects(
      client.storageVolUpload(VOLUME, source),
      (error) => error instanceof LibvirtError && error.code === 50,
    );
    assert.equal(state.taken, 0);
    assert.equal(packets(daemon).length, 0);
    await client.close();
  });

  it("takes no more from its source than the pipe holds", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    const { state, source } = endless();
    const abort = new AbortController();
    const sending = client.storageVolUpload(VOLUME, source, { signal: abort.signal });
    await daemon.next(ended(Status.CONTINUE));
    daemon.pause();
    let before: number;
    do {
      before = state.taken;
      await new Promise((resolve) => setTimeout(resolve, 20));
    } while (state.taken > before);
    const waiting = state.taken - bytesOf(daemon).length;
    assert.ok(waiting <= OUTBOX_BYTES + 3 * STREAM_PAYLOAD, `${waiting} bytes wait`);
    daemon.resume();
    await daemon.next(() => bytesOf(daemon).length > state.taken / 2 && state.taken > before);
    abort.abort();
    await assert.rejects(sending);
    await client.close();
  });

  it("stops with the daemon's error in the middle, and lets go of the source", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolUpload, (call) => daemon.reply(call, storageVolUpload, {}));
    const { state, source } = endless();
    const sending = client.storageVolUpload(VOLUME, source);
    const first = await daemon.next(ended(Status.CONTINUE));
    daemon.stream(first, Status.ERROR, errorPayload(38, "No space left on device"));
    await assert.rejects(
      sending,
      (error) => error instanceof LibvirtError && error.code === 38 && /No space/.test(error.message),
    );
    assert.equal(state.released, true);
    assert.ok(packets(daemon).every(({ status }) => status === Status.CONTINUE));
    assert.equal(client.closed, false);
    await client.close();
  });

  it("stops with the daemon's error while its source is silent", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolUpload, (call) => {
      daemon.reply(call, storageVolUpload, {});
      daemon.stream(call, Status.ERROR, errorPayload(38, "I/O error"));
    });
    async function* silent(): AsyncGenerator<Uint8Array> {
      await new Promise(() => undefined);
    }
    await assert.rejects(client.storageVolUpload(VOLUME, silent()), LibvirtError);
    await client.close();
  });

  it("fails with the error that comes instead of the confirmation", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolUpload, (call) => daemon.reply(call, storageVolUpload, {}));
    void daemon
      .next(ended(Status.OK))
      .then((finish) => daemon.stream(finish, Status.ERROR, errorPayload(38, "I/O error")));
    await assert.rejects(client.storageVolUpload(VOLUME, chunksOf(Buffer.alloc(9))), LibvirtError);
    await client.close();
  });

  it("is aborted on the wire where its source fails, and fails with that error", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    const failure = new Error("the download ended early");
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(STREAM_PAYLOAD);
      throw failure;
    }
    await assert.rejects(client.storageVolUpload(VOLUME, failing()), (error) => error === failure);
    const last = packets(daemon).at(-1);
    assert.deepEqual([last?.status, last?.payload.length], [Status.ERROR, 0]);
    await client.close();
  });

  for (const [what, length] of [
    ["fewer", 11n],
    ["more", 9n],
  ] as const) {
    it(`is aborted on the wire where its source has ${what} bytes than declared`, async () => {
      const { daemon, client } = await connected();
      takesUploads(daemon);
      await assert.rejects(
        client.storageVolUpload(VOLUME, chunksOf(Buffer.alloc(5), Buffer.alloc(5)), { length }),
        (error) => error instanceof StreamLengthError && error.expected === length && error.actual === 10n,
      );
      assert.equal(packets(daemon).at(-1)?.status, Status.ERROR);
      assert.ok(bytesOf(daemon).length < 10);
      await client.close();
    });
  }

  it("is aborted on the wire by its signal, though its source is silent", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    const abort = new AbortController();
    async function* silent(): AsyncGenerator<Uint8Array> {
      abort.abort(new Error("enough"));
      await new Promise(() => undefined);
    }
    const sending = client.storageVolUpload(VOLUME, silent(), { signal: abort.signal });
    await assert.rejects(sending, /enough/);
    await daemon.next(ended(Status.ERROR));
    await client.close();
  });

  it("does not begin where its signal was given before", async () => {
    const { daemon, client } = await connected();
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(client.storageVolUpload(VOLUME, chunksOf(), { signal }), /enough/);
    assert.equal(daemon.calls(storageVolUpload).length, 0);
    await client.close();
  });

  it("fails where the daemon takes nothing for too long", async () => {
    const { daemon, client } = await connected({ streamStallMs: 40 });
    daemon.on(storageVolUpload, (call) => daemon.reply(call, storageVolUpload, {}));
    const { source } = endless();
    const sending = client.storageVolUpload(VOLUME, source);
    await daemon.next(ended(Status.CONTINUE));
    daemon.pause();
    const failed = assert.rejects(sending, LibvirtTimeoutError);
    await new Promise((resolve) => setTimeout(resolve, 80));
    daemon.resume();
    daemon.stream(await daemon.next(ended(Status.ERROR)), Status.OK);
    await failed;
    await client.close();
  });

  it("fails where the confirmation does not come", async () => {
    const { daemon, client } = await connected({ streamStallMs: 20 });
    daemon.on(storageVolUpload, (call) => daemon.reply(call, storageVolUpload, {}));
    await assert.rejects(client.storageVolUpload(VOLUME, chunksOf(Buffer.alloc(9))), LibvirtTimeoutError);
    assert.equal(client.closed, false);
    await client.close();
  });

  it("rejects where the connection breaks in the middle", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolUpload, (call) => daemon.reply(call, storageVolUpload, {}));
    const { state, source } = endless();
    const sending = client.storageVolUpload(VOLUME, source);
    await daemon.next(ended(Status.CONTINUE));
    daemon.client.destroy();
    await assert.rejects(sending, LibvirtClosedError);
    assert.equal(state.released, true);
  });

  it("is given up on the wire where the daemon agreed after the deadline", async () => {
    const { daemon, client } = await connected({ callTimeoutMs: 10 });
    await assert.rejects(client.storageVolUpload(VOLUME, chunksOf()), LibvirtTimeoutError);
    const call = await daemon.call(storageVolUpload);
    daemon.reply(call, storageVolUpload, {});
    daemon.stream(await daemon.next(ended(Status.ERROR)), Status.OK);
    await client.close();
  });

  it("ends the connection where the daemon sends it data, or ends it unasked", async () => {
    for (const [status, payload] of [
      [Status.CONTINUE, Buffer.alloc(4)],
      [Status.OK, Buffer.alloc(0)],
      [7, Buffer.alloc(0)],
    ] as const) {
      const { daemon, client } = await connected();
      daemon.on(storageVolUpload, (call) => {
        daemon.reply(call, storageVolUpload, {});
        daemon.stream(call, status, payload);
      });
      await assert.rejects(client.storageVolUpload(VOLUME, endless().source), LibvirtProtocolError);
      assert.equal(client.closed, true);
    }
  });

  it("drops what the daemon says of a stream that has ended", async () => {
    const { daemon, client } = await connected();
    takesUploads(daemon);
    await client.storageVolUpload(VOLUME, chunksOf(Buffer.alloc(9)));
    daemon.stream(await daemon.call(storageVolUpload), Status.ERROR, errorPayload(38, "late"));
    daemon.on(procedures.connectGetHostname, (call) =>
      daemon.reply(call, procedures.connectGetHostname, { hostname: "host" }),
    );
    assert.equal(await client.connectGetHostname(), "host");
    await client.close();
  });

  it("shares the connection with calls and other uploads", async () => {
    const { daemon, client } = await connected();
    const finished = new Set<number>();
    daemon.on(storageVolUpload, (call) => {
      daemon.reply(call, storageVolUpload, {});
      void daemon
        .next((frame) => ended(Status.OK)(frame) && frame.serial === call.serial)
        .then(() => {
          finished.add(call.serial);
          daemon.stream(call, Status.OK);
        });
    });
    daemon.on(procedures.connectGetHostname, (call) =>
      daemon.reply(call, procedures.connectGetHostname, { hostname: "host" }),
    );
    const megabytes = () => chunksOf(...Array.from({ length: 40 }, () => Buffer.alloc(100_000)));
    const uploads = [1, 2, 3].map(() => client.storageVolUpload(VOLUME, megabytes()));
    await daemon.next(ended(Status.CONTINUE));
    assert.equal(await client.connectGetHostname(), "host");
    assert.equal(finished.size, 0);
    assert.deepEqual(await Promise.all(uploads), [4_000_000, 4_000_000, 4_000_000]);
    await client.close();
  });

  it("reports its progress, and is recorded once, at its end", async () => {
    const records: CallRecord[] = [];
    const { daemon, client } = await connected({ onCall: (record) => records.push(record) });
    takesUploads(daemon);
    const progress: number[] = [];
    const source = chunksOf(Buffer.alloc(STREAM_PAYLOAD), Buffer.alloc(10));
    await client.storageVolUpload(VOLUME, source, { onProgress: (bytes) => progress.push(bytes) });
    assert.deepEqual(progress, [STREAM_PAYLOAD, STREAM_PAYLOAD + 10]);
    const own = records.filter(({ rpc }) => rpc === "virStorageVolUpload");
    assert.deepEqual(
      own.map(({ identifiers }) => identifiers),
      [{ pool: "default", volume: "base.raw" }],
    );
    await client.close();
  });
});
