import { LibvirtProtocolError, LibvirtTimeoutError } from "./errors";
import { Status } from "./frame";

/** How many downloaded bytes may wait for their consumer before the transport is no longer read. */
export const DOWNLOAD_BUFFER_BYTES = 1_048_576;

/** Milliseconds that an aborted stream waits for the daemon's confirmation. */
const ABORT_WAIT_MS = 10_000;

/** What a stream needs of its connection. */
export interface StreamLink {
  send(status: number, payload: readonly Uint8Array[]): void;
  /** Resolves once the transport has room for another packet. */
  room(): Promise<void>;
  /** Stops reading the transport, or goes on. */
  hold(on: boolean): void;
  /** The daemon will say no more about this stream. */
  done(): void;
  decodeError(payload: Buffer): Error;
}

export interface StreamOptions {
  rpc: string;
  direction: "upload" | "download";
  /** Milliseconds that it may stand still. */
  stallMs: number;
}

/**
 * A stream of volume bytes, opened by a call and spoken under its serial. Both
 * ways it ends with an OK of ours, or an ERROR of either side; an OK of ours
 * and an ERROR of ours are confirmed. One operation at a time.
 */
export class RpcStream {
  #state: "open" | "finishing" | "aborting" | "closed" = "open";
  #failure: Error | undefined;
  #interrupt: ((error: Error) => void) | undefined;
  #wake: (() => void) | undefined;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #ended = false;

  constructor(
    private readonly link: StreamLink,
    private readonly options: StreamOptions,
  ) {}

  /** Sends one packet, once there is room for it. It must hold at least one byte: none means the end. */
  async write(payload: readonly Uint8Array[]): Promise<void> {
    await this.wait(this.link.room(), this.options.stallMs);
    this.link.send(Status.CONTINUE, payload);
  }

  /** The next bytes, or undefined at the end. */
  async read(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0 && !this.#ended) await this.wait(this.#change(), this.options.stallMs);
    if (this.#failure !== undefined) throw this.#failure;
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) this.#setBuffered(this.#buffered - chunk.length);
    return chunk;
  }

  /** Says that all is sent, or read, and awaits the confirmation. */
  async finish(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#state = "finishing";
    this.link.send(Status.OK, []);
    while (!this.#isClosed()) await this.wait(this.#change(), this.options.stallMs);
  }

  /** Gives the stream up, and awaits the confirmation for a while. Never rejects. */
  async abort(): Promise<void> {
    if (this.#state === "closed" || this.#state === "aborting") return;
    const finishSent = this.#state === "finishing";
    this.#state = "aborting";
    this.#discard();
    if (finishSent) return;
    this.link.send(Status.ERROR, []);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ABORT_WAIT_MS);
    });
    await Promise.race([this.#change(), tooLate]);
    clearTimeout(timer);
  }

  /** Makes the operation that waits, and all later ones, reject with `error`. The stream is still to be aborted. */
  interrupt(error: Error): void {
    this.#failure ??= error;
    this.#interrupt?.(this.#failure);
  }

  /** Waits for `promise`, though no longer than the stream is sound, nor than `stallMs`. */
  async wait<T>(promise: Promise<T>, stallMs?: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        promise.then(resolve, reject);
        if (this.#failure !== undefined) return reject(this.#failure);
        this.#interrupt = reject;
        if (stallMs !== undefined) {
          const stalled = () =>
            this.interrupt(new LibvirtTimeoutError(this.options.rpc, stallMs, "no progress"));
          timer = setTimeout(stalled, stallMs);
        }
      });
    } finally {
      clearTimeout(timer);
      this.#interrupt = undefined;
    }
  }

  /** A STREAM packet of the daemon. */
  receive(status: number, payload: Buffer): void {
    if (status === Status.CONTINUE) {
      this.#receiveData(payload);
    } else if (status === Status.OK) {
      if (this.#state === "open") throw this.#violation("the daemon ended the stream unasked");
      this.#close();
    } else if (status === Status.ERROR) {
      const error = this.link.decodeError(payload);
      this.#close();
      this.interrupt(error);
    } else {
      throw this.#violation(`a stream packet of the unknown status ${status}`);
    }
  }

  /** The connection is gone. */
  lost(error: Error): void {
    this.#close();
    this.interrupt(error);
  }

  #receiveData(payload: Buffer): void {
    if (this.#state === "aborting") return;
    if (this.options.direction === "upload") throw this.#violation("the daemon sent data to an upload");
    if (this.#ended) throw this.#violation("the daemon sent data after the end");
    if (payload.length === 0) {
      this.#ended = true;
    } else {
      this.#chunks.push(payload);
      this.#setBuffered(this.#buffered + payload.length);
    }
    this.#wake?.();
  }

  #setBuffered(bytes: number): void {
    this.#buffered = bytes;
    this.link.hold(bytes >= DOWNLOAD_BUFFER_BYTES);
  }

  #discard(): void {
    this.#chunks = [];
    this.#setBuffered(0);
  }

  #close(): void {
    this.#state = "closed";
    this.#discard();
    this.link.done();
    this.#wake?.();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Resolves with the next packet that matters. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #violation(what: string): LibvirtProtocolError {
    return new LibvirtProtocolError(`${this.options.rpc}: ${what}`);
  }
}
