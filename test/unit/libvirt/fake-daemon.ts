import { type Duplex, duplexPair } from "node:stream";
import { LibvirtClient, type OpenOptions } from "@egress-proxies/providers/libvirt/client";
import type { Codec } from "@egress-proxies/providers/libvirt/codec";
import {
  encodeHeader,
  type Frame,
  FrameParser,
  MessageType,
  Status,
} from "@egress-proxies/providers/libvirt/frame";
import { Program, procedures, remoteError } from "@egress-proxies/providers/libvirt/procedures";
import { XdrReader, XdrWriter } from "@egress-proxies/providers/libvirt/xdr";

type Handler = (call: Frame, daemon: FakeDaemon) => void;

/** A daemon in memory that says exactly what a test wants, when it wants. */
export class FakeDaemon {
  /** The client's end. */
  readonly client: Duplex;
  /** Every frame that came, in order. */
  readonly received: Frame[] = [];
  readonly #side: Duplex;
  readonly #parser = new FrameParser();
  readonly #handlers = new Map<number, Handler>();
  #arrivals: (() => void)[] = [];

  constructor() {
    [this.client, this.#side] = duplexPair();
    this.#side.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#side.on("error", () => undefined);
    this.on(procedures.authList, (call) => this.reply(call, procedures.authList, { types: [0] }));
    this.on(procedures.connectOpen, (call) => this.reply(call, procedures.connectOpen, {}));
    this.on(procedures.connectClose, (call) => this.reply(call, procedures.connectClose, {}));
  }

  /** What to do with calls of a procedure; the others are only noted. */
  on({ number }: { number: number }, handler: Handler): void {
    this.#handlers.set(number, handler);
  }

  /** The first frame that fits, waiting for it where it has not come yet. */
  async next(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.received.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    }
  }

  call({ number }: { number: number }): Promise<Frame> {
    return this.next(({ type, procedure }) => type === MessageType.CALL && procedure === number);
  }

  calls({ number }: { number: number }): Frame[] {
    return this.received.filter(({ type, procedure }) => type === MessageType.CALL && procedure === number);
  }

  reply<Result>(call: Frame, { result }: { result: Codec<Result> }, value: Result): void {
    this.send({ ...call, type: MessageType.REPLY, status: Status.OK, payload: encode(result, value) });
  }

  replyError(call: Frame, code: number, message = "no"): void {
    this.send({
      ...call,
      type: MessageType.REPLY,
      status: Status.ERROR,
      payload: errorPayload(code, message),
    });
  }

  stream(call: Frame, status: number, payload: Buffer = Buffer.alloc(0)): void {
    this.send({ ...call, type: MessageType.STREAM, status, payload });
  }

  keepalive(procedure: number): void {
    const header = {
      program: Program.KEEPALIVE,
      procedure,
      type: MessageType.MESSAGE,
      serial: 0,
      status: Status.OK,
    };
    this.send({ ...header, payload: Buffer.alloc(0) });
  }

  send(frame: Frame): void {
    this.raw(Buffer.concat([encodeHeader(frame, frame.payload.length), frame.payload]));
  }

  raw(bytes: Buffer): void {
    this.#side.write(bytes);
  }

  /** Stops reading, as a daemon that is busy does; `resume` goes on. */
  pause(): void {
    this.#side.pause();
  }

  resume(): void {
    this.#side.resume();
  }

  end(): void {
    this.#side.end();
  }

  /** How many bytes the client has not read yet. */
  get unread(): number {
    return this.client.readableLength + this.#side.writableLength;
  }

  #receive(chunk: Buffer): void {
    for (const frame of this.#parser.push(chunk)) {
      this.received.push(frame);
      if (frame.type === MessageType.CALL) this.#handlers.get(frame.procedure)?.(frame, this);
    }
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    for (const arrived of arrivals) arrived();
  }
}

export async function connected(
  options: OpenOptions = {},
): Promise<{ daemon: FakeDaemon; client: LibvirtClient }> {
  const daemon = new FakeDaemon();
  return { daemon, client: await LibvirtClient.open(daemon.client, options) };
}

export function encode<T>(codec: Codec<T>, value: T): Buffer {
  const writer = new XdrWriter();
  codec.write(writer, value);
  return writer.finish();
}

export function decode<T>(codec: Codec<T>, bytes: Buffer): T {
  const reader = new XdrReader(bytes);
  const value = codec.read(reader);
  reader.end();
  return value;
}

export function errorPayload(code: number, message: string): Buffer {
  return encode(remoteError, { code, domain: 10, message, level: 2, int1: -1, int2: -1 });
}

export const DOMAIN = { name: "web", uuid: "11111111-2222-3333-4444-555555555555", id: -1 };
export const VOLUME = { pool: "default", name: "base.raw", key: "/pool/base.raw" };
