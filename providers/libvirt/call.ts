import type { Codec } from "./codec";
import { LibvirtError, LibvirtTimeoutError } from "./errors";
import type { Frame, Header } from "./frame";
import { type Procedure, remoteError } from "./procedures";
import type { RpcStream } from "./stream";
import { XdrReader, XdrWriter } from "./xdr";

/** One call on its way: waiting for its turn, or on the wire, or given up while its reply may still come. */
export class Call<Result = unknown> {
  readonly result: Promise<Result>;
  readonly rpc: string;
  readonly payload: Buffer;
  /** What begins with the reply, where the call opens a stream. */
  stream: RpcStream | undefined;
  /** 0 while the call waits for its turn. */
  serial = 0;
  replied = false;
  /** The daemon will say no more about the stream. */
  streamEnded = false;
  /** Its deadline passed. */
  abandoned = false;

  readonly #program: number;
  readonly #procedure: number;
  readonly #accept: (payload: Buffer) => void;
  readonly #reject: (error: Error) => void;
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    { rpc, program, number }: Pick<Procedure<never, unknown>, "rpc" | "program" | "number">,
    payload: Buffer,
    result: Promise<Result>,
    accept: (payload: Buffer) => void,
    reject: (error: Error) => void,
  ) {
    this.rpc = rpc;
    this.#program = program;
    this.#procedure = number;
    this.payload = payload;
    this.result = result;
    this.#accept = accept;
    this.#reject = reject;
  }

  /** Throws LibvirtProtocolError where an argument does not fit the protocol. */
  static make<Args, Result>(procedure: Procedure<Args, Result>, args: Args): Call<Result> {
    const writer = new XdrWriter();
    procedure.args.write(writer, args);
    let settle!: (result: Result) => void;
    let reject!: (error: Error) => void;
    const result = new Promise<Result>((resolve, refuse) => {
      settle = resolve;
      reject = refuse;
    });
    const accept = (payload: Buffer) => settle(decode(procedure.result, payload));
    return new Call(procedure, writer.finish(), result, accept, reject);
  }

  header(type: number, status: number): Header {
    return { program: this.#program, procedure: this.#procedure, type, serial: this.serial, status };
  }

  answers({ program, procedure }: Frame): boolean {
    return program === this.#program && procedure === this.#procedure;
  }

  startTimer(timeoutMs: number, expired: () => void): void {
    this.#timer = setTimeout(() => {
      this.#reject(new LibvirtTimeoutError(this.rpc, timeoutMs));
      expired();
    }, timeoutMs);
  }

  /** Takes the reply of a call that succeeded; throws LibvirtProtocolError where it cannot be read. */
  accept(payload: Buffer): void {
    this.#accept(payload);
    clearTimeout(this.#timer);
  }

  fail(error: Error): void {
    clearTimeout(this.#timer);
    if (this.replied) this.stream?.lost(error);
    else this.#reject(error);
  }

  decodeError(payload: Buffer): LibvirtError {
    const { code, domain, level, message } = decode(remoteError, payload);
    return new LibvirtError(this.rpc, { code, domain, level, message: message ?? "no message" });
  }
}

function decode<T>(codec: Codec<T>, payload: Buffer): T {
  const reader = new XdrReader(payload);
  const value = codec.read(reader);
  reader.end();
  return value;
}
