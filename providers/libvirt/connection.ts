import type { Duplex } from "node:stream";
import { Call } from "./call";
import { LibvirtClosedError, LibvirtProtocolError } from "./errors";
import { type Frame, FrameParser, MessageType, Status } from "./frame";
import { Keepalive, KeepaliveProcedure } from "./keepalive";
import { Outbox } from "./outbox";
import { type Procedure, Program } from "./procedures";
import { RpcStream, type StreamOptions } from "./stream";

export interface ConnectionOptions {
  /** Milliseconds until a call fails, its wait for a turn included. */
  callTimeoutMs: number;
  /** Calls on the wire at once. The daemon stops reading at 5 (max_client_requests). */
  maxInFlight: number;
  /** Milliseconds of silence until the daemon is pinged. */
  keepaliveIntervalMs: number;
  /** Milliseconds of silence until the daemon counts as dead; while a stream is open it is `streamStallMs`. */
  keepaliveLimitMs: number;
  /** Milliseconds that a stream may stand still. */
  streamStallMs: number;
}

/** Calls and streams over one transport, matched by their serials (virnetprotocol.x in libvirt's sources). */
export class RpcConnection {
  readonly #parser = new FrameParser();
  readonly #outbox: Outbox;
  readonly #keepalive: Keepalive;
  /** Calls that wait for their turn, in the order in which they came. */
  readonly #queue: Call[] = [];
  /** Calls without a reply and streams without an end, by serial. */
  readonly #calls = new Map<number, Call>();
  /** Streams whose consumers are slow; while there is one, nothing is read. */
  readonly #holding = new Set<Call>();
  #closeListeners: ((error?: Error) => void)[] = [];
  #inFlight = 0;
  #lastSerial = 0;
  #closed: { error: Error | undefined } | undefined;

  constructor(
    private readonly transport: Duplex,
    private readonly options: ConnectionOptions,
  ) {
    this.#keepalive = new Keepalive({
      intervalMs: options.keepaliveIntervalMs,
      limitMs: () => this.#silenceLimit(),
      ping: () => this.#sendKeepalive(KeepaliveProcedure.PING),
      dead: () => this.end(new LibvirtClosedError("libvirtd gave no sign of life for too long")),
    });
    this.#outbox = new Outbox(transport);
    transport.on("data", (chunk: Buffer) => this.#receive(chunk));
    transport.on("end", () => this.#lost());
    transport.on("close", () => this.#lost());
    // Stays for good: an error after the end is nobody's, and without a listener it would end the process.
    transport.on("error", (cause) => this.#lost(cause));
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Called once, at once where the connection is closed already; without an error where `end` had none. */
  onClose(listener: (error?: Error) => void): void {
    if (this.#closed === undefined) this.#closeListeners.push(listener);
    else listener(this.#closed.error);
  }

  async call<Args, Result>(
    procedure: Procedure<Args, Result>,
    args: Args,
    timeoutMs?: number,
  ): Promise<Result> {
    return this.#start(Call.make(procedure, args), timeoutMs);
  }

  /** Makes the call that opens a stream, and returns the stream. */
  async openStream<Args>(
    procedure: Procedure<Args, object>,
    args: Args,
    direction: StreamOptions["direction"],
  ): Promise<RpcStream> {
    const call = Call.make(procedure, args);
    const link = {
      send: (status: number, payload: readonly Uint8Array[]) =>
        // Bytes that go out show that the line lives, though a pong may wait behind them.
        this.#outbox.send(call.header(MessageType.STREAM, status), payload, () => this.#keepalive.heard()),
      room: () => this.#outbox.room(),
      hold: (on: boolean) => this.#hold(call, on),
      done: () => {
        call.streamEnded = true;
        if (call.replied) this.#calls.delete(call.serial);
      },
      decodeError: (payload: Buffer) => call.decodeError(payload),
    };
    const stream = new RpcStream(link, { rpc: call.rpc, direction, stallMs: this.options.streamStallMs });
    call.stream = stream;
    await this.#start(call);
    return stream;
  }

  /** Closes the transport and rejects all that waits, with `error` or else a LibvirtClosedError. */
  end(error?: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    this.#keepalive.stop();
    this.transport.destroy();
    for (const call of [...this.#queue, ...this.#calls.values()])
      call.fail(error ?? new LibvirtClosedError());
    this.#queue.length = 0;
    this.#calls.clear();
    for (const listener of this.#closeListeners) listener(error);
    this.#closeListeners = [];
  }

  #start<Result>(call: Call<Result>, timeoutMs = this.options.callTimeoutMs): Promise<Result> {
    if (this.#closed !== undefined) {
      throw new LibvirtClosedError(undefined, { cause: this.#closed.error });
    }
    call.startTimer(timeoutMs, () => this.#expired(call));
    this.#queue.push(call);
    this.#dispatch();
    return call.result;
  }

  #dispatch(): void {
    while (this.#inFlight < this.options.maxInFlight && this.#queue.length > 0) {
      const call = this.#queue.shift()!;
      call.serial = this.#nextSerial();
      this.#calls.set(call.serial, call);
      this.#inFlight++;
      this.#outbox.send(call.header(MessageType.CALL, Status.OK), [call.payload]);
    }
  }

  /**
   * A call that is on the wire keeps its turn until its reply comes, since the
   * daemon still works on it. Where calls like that hold every turn for so long
   * that another one's deadline passes, the connection is of no more use.
   */
  #expired(call: Call): void {
    if (call.serial !== 0) {
      call.abandoned = true;
      return;
    }
    this.#queue.splice(this.#queue.indexOf(call), 1);
    const unanswered = [...this.#calls.values()].filter(({ replied }) => !replied);
    if (unanswered.every(({ abandoned }) => abandoned)) {
      const names = unanswered.map(({ rpc }) => rpc).join(", ");
      this.end(new LibvirtClosedError(`libvirtd has long not answered ${names}`));
    }
  }

  #receive(chunk: Buffer): void {
    this.#keepalive.heard();
    try {
      for (const frame of this.#parser.push(chunk)) {
        if (this.#closed === undefined) this.#route(frame);
      }
    } catch (error) {
      if (!(error instanceof LibvirtProtocolError)) throw error;
      this.end(error);
    }
  }

  #route(frame: Frame): void {
    if (frame.program === Program.KEEPALIVE) {
      if (frame.procedure === KeepaliveProcedure.PING) this.#sendKeepalive(KeepaliveProcedure.PONG);
    } else if (frame.type === MessageType.REPLY) {
      this.#reply(frame);
    } else if (frame.type === MessageType.STREAM) {
      this.#streamPacket(frame);
    } else if (frame.type !== MessageType.MESSAGE) {
      throw new LibvirtProtocolError(`a message of the unexpected type ${frame.type}`);
    }
    // A MESSAGE is an event. None was asked for, and none is answered.
  }

  #reply(frame: Frame): void {
    const call = this.#calls.get(frame.serial);
    if (call === undefined || call.replied) {
      throw new LibvirtProtocolError(`a reply with the serial ${frame.serial}, under which no call waits`);
    }
    if (!call.answers(frame)) {
      throw new LibvirtProtocolError(
        `${call.rpc}: the reply is that of another procedure, ${frame.procedure}`,
      );
    }
    const error = frame.status === Status.ERROR ? call.decodeError(frame.payload) : undefined;
    if (error === undefined && frame.status !== Status.OK) {
      throw new LibvirtProtocolError(`${call.rpc}: a reply of the unexpected status ${frame.status}`);
    }
    if (error === undefined) call.accept(frame.payload);
    else call.fail(error);
    call.replied = true;
    this.#inFlight--;
    if (error !== undefined || call.stream === undefined || call.streamEnded) this.#calls.delete(call.serial);
    else if (call.abandoned) void call.stream.abort();
    this.#dispatch();
  }

  #streamPacket(frame: Frame): void {
    const call = this.#calls.get(frame.serial);
    // The daemon writes stream packets from another thread than the reply: they may overtake it.
    if (call?.stream !== undefined) {
      call.stream.receive(frame.status, frame.payload);
    } else if (call !== undefined || frame.serial > this.#lastSerial) {
      throw new LibvirtProtocolError(`a stream packet with the serial ${frame.serial}, which has no stream`);
    }
    // Else the stream has ended here, and the daemon did not know yet.
  }

  #hold(call: Call, on: boolean): void {
    if (on === this.#holding.has(call)) return;
    if (on) this.#holding.add(call);
    else this.#holding.delete(call);
    if (this.#holding.size > 0) this.transport.pause();
    else this.transport.resume();
  }

  #silenceLimit(): number {
    // What we do not read we cannot hear.
    if (this.#holding.size > 0) return Number.POSITIVE_INFINITY;
    const streams = [...this.#calls.values()].some(({ stream }) => stream !== undefined);
    const { keepaliveLimitMs, streamStallMs } = this.options;
    // Behind a slow line's full pipe a pong takes its time.
    return streams ? Math.max(keepaliveLimitMs, streamStallMs) : keepaliveLimitMs;
  }

  #sendKeepalive(procedure: number): void {
    const header = {
      program: Program.KEEPALIVE,
      procedure,
      type: MessageType.MESSAGE,
      serial: 0,
      status: Status.OK,
    };
    this.#outbox.send(header, []);
  }

  #nextSerial(): number {
    do this.#lastSerial = this.#lastSerial === 0xffffffff ? 1 : this.#lastSerial + 1;
    while (this.#calls.has(this.#lastSerial));
    return this.#lastSerial;
  }

  #lost(cause?: Error): void {
    const where = this.#parser.partial ? "in the middle of a message" : "from the other side";
    this.end(new LibvirtClosedError(`the connection to libvirt was closed ${where}`, cause && { cause }));
  }
}
