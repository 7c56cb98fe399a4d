import assert from "node:assert/strict";
import {
  LibvirtClosedError,
  LibvirtError,
  LibvirtProtocolError,
  LibvirtTimeoutError,
} from "@egress-proxies/providers/libvirt/errors";
import { type Frame, MessageType, STREAM_PAYLOAD, Status } from "@egress-proxies/providers/libvirt/frame";
import { procedures } from "@egress-proxies/providers/libvirt/procedures";
import { DOWNLOAD_BUFFER_BYTES } from "@egress-proxies/providers/libvirt/stream";
import { connected, decode, errorPayload, type FakeDaemon, VOLUME } from "./fake-daemon";

const { storageVolDownload } = procedures;

const streamed = (status: number) => (frame: Frame) =>
  frame.type === MessageType.STREAM && frame.status === status;

/** A daemon that sends the packets, then the end, and confirms what the client says then. */
function sends(daemon: FakeDaemon, packets: Buffer[]): void {
  daemon.on(storageVolDownload, (call) => {
    daemon.reply(call, storageVolDownload, {});
    for (const packet of packets) daemon.stream(call, Status.CONTINUE, packet);
    daemon.stream(call, Status.CONTINUE);
    void daemon
      .next((frame) => streamed(Status.OK)(frame) || streamed(Status.ERROR)(frame))
      .then(() => daemon.stream(call, Status.OK));
  });
}

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a download", () => {
  it("yields all bytes in order and then confirms the end", async () => {
    const { daemon, client } = await connected();
    const packets = Array.from({ length: 20 }, (_, at) => Buffer.alloc(100_000, at));
    sends(daemon, packets);
    assert.ok((await collect(client.storageVolDownload(VOLUME))).equals(Buffer.concat(packets)));
    assert.equal(daemon.received.filter(streamed(Status.OK)).length, 1);
    assert.equal(daemon.received.filter(streamed(Status.ERROR)).length, 0);
    await client.close();
  });

  it("takes packets that overtake the reply, as those of another thread of the daemon may", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => {
      daemon.stream(call, Status.CONTINUE, Buffer.from("early"));
      daemon.reply(call, storageVolDownload, {});
      daemon.stream(call, Status.CONTINUE);
      void daemon.next(streamed(Status.OK)).then(() => daemon.stream(call, Status.OK));
    });
    assert.equal((await collect(client.storageVolDownload(VOLUME))).toString(), "early");
    assert.equal(client.closed, false);
    await client.close();
  });

  it("takes an error that overtakes the reply", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => {
      daemon.stream(call, Status.ERROR, errorPayload(38, "broken"));
      daemon.reply(call, storageVolDownload, {});
    });
    await assert.rejects(
      collect(client.storageVolDownload(VOLUME)),
      (error) => error instanceof LibvirtError && error.code === 38,
    );
    assert.equal(client.closed, false);
    await client.close();
  });

  it("asks for the part that is wanted", async () => {
    const { daemon, client } = await connected();
    sends(daemon, [Buffer.from("part")]);
    await collect(client.storageVolDownload(VOLUME, { offset: 7n, length: 4n }));
    const args = decode(storageVolDownload.args, (await daemon.call(storageVolDownload)).payload);
    assert.deepEqual(args, { volume: VOLUME, offset: 7n, length: 4n, flags: 0 });
    await client.close();
  });

  it("rejects where the daemon has no such volume", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => daemon.replyError(call, 50));
    await assert.rejects(
      collect(client.storageVolDownload(VOLUME)),
      (error) => error instanceof LibvirtError && error.code === 50,
    );
    await client.close();
  });

  it("reads no more than a slow consumer can take, and loses nothing", async () => {
    const { daemon, client } = await connected({ keepaliveIntervalMs: 10, keepaliveLimitMs: 20 });
    const packets = Array.from({ length: 60 }, (_, at) => Buffer.alloc(STREAM_PAYLOAD, at));
    sends(daemon, packets);
    const download = client.storageVolDownload(VOLUME);
    const first = await download.next();
    // Long enough for a daemon that is not read to be taken for dead, if that were the rule.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const total = packets.length * STREAM_PAYLOAD;
    const read = total - daemon.unread;
    assert.ok(read <= DOWNLOAD_BUFFER_BYTES + 3 * STREAM_PAYLOAD, `${read} bytes were read`);
    const rest = await collect(download);
    assert.ok(Buffer.concat([first.value as Buffer, rest]).equals(Buffer.concat(packets)));
    await client.close();
  });

  it("left early is aborted on the wire; what still comes is dropped", async () => {
    const { daemon, client } = await connected();
    sends(
      daemon,
      Array.from({ length: 30 }, () => Buffer.alloc(STREAM_PAYLOAD)),
    );
    for await (const chunk of client.storageVolDownload(VOLUME)) {
      assert.equal(chunk.length, STREAM_PAYLOAD);
      break;
    }
    assert.equal(daemon.received.filter(streamed(Status.ERROR)).length, 1);
    assert.equal(daemon.received.filter(streamed(Status.OK)).length, 0);
    daemon.on(procedures.connectGetHostname, (call) =>
      daemon.reply(call, procedures.connectGetHostname, { hostname: "host" }),
    );
    assert.equal(await client.connectGetHostname(), "host");
    await client.close();
  });

  it("that is never read from is never begun", async () => {
    const { daemon, client } = await connected();
    await client.storageVolDownload(VOLUME).return();
    assert.equal(daemon.calls(storageVolDownload).length, 0);
    await client.close();
  });

  it("rejects with the daemon's error in the middle", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => {
      daemon.reply(call, storageVolDownload, {});
      daemon.stream(call, Status.CONTINUE, Buffer.from("some"));
      daemon.stream(call, Status.ERROR, errorPayload(38, "I/O error"));
    });
    await assert.rejects(
      collect(client.storageVolDownload(VOLUME)),
      (error) => error instanceof LibvirtError && error.code === 38,
    );
    assert.equal(daemon.received.filter(({ type }) => type === MessageType.STREAM).length, 0);
    await client.close();
  });

  it("is aborted on the wire by its signal, though the daemon is silent", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => daemon.reply(call, storageVolDownload, {}));
    const abort = new AbortController();
    const reading = collect(client.storageVolDownload(VOLUME, { signal: abort.signal }));
    await daemon.call(storageVolDownload);
    abort.abort(new Error("enough"));
    const failed = assert.rejects(reading, /enough/);
    daemon.stream(await daemon.next(streamed(Status.ERROR)), Status.OK);
    await failed;
    await client.close();
  });

  it("fails where nothing comes for too long", async () => {
    const { daemon, client } = await connected({ streamStallMs: 20 });
    daemon.on(storageVolDownload, (call) => daemon.reply(call, storageVolDownload, {}));
    void daemon.next(streamed(Status.ERROR)).then((abort) => daemon.stream(abort, Status.OK));
    await assert.rejects(collect(client.storageVolDownload(VOLUME)), LibvirtTimeoutError);
    assert.equal(client.closed, false);
    await client.close();
  });

  it("rejects where the connection breaks: an end of the transport is no end of the volume", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => {
      daemon.reply(call, storageVolDownload, {});
      daemon.stream(call, Status.CONTINUE, Buffer.from("some"));
      daemon.end();
    });
    await assert.rejects(collect(client.storageVolDownload(VOLUME)), LibvirtClosedError);
  });

  it("ends the connection where the daemon sends more after the end", async () => {
    const { daemon, client } = await connected();
    daemon.on(storageVolDownload, (call) => {
      daemon.reply(call, storageVolDownload, {});
      daemon.stream(call, Status.CONTINUE);
      daemon.stream(call, Status.CONTINUE, Buffer.from("more"));
    });
    await assert.rejects(collect(client.storageVolDownload(VOLUME)), LibvirtProtocolError);
    assert.equal(client.closed, true);
  });
});
