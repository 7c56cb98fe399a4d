import { Duplex } from "node:stream";
import type { ClientChannel } from "ssh2";
import { CommandFailedError, ConnectionLostError } from "./errors";

type Done = (error?: Error | null) => void;

/** Enough for some writes of 256 KiB to wait while one is under way. */
const WRITE_BUFFER_BYTES = 1024 * 1024;
const STDERR_BYTES = 4096;

/**
 * A channel as a well-behaved Duplex. ssh2's own channels end as if all had gone well
 * when the connection breaks, never call back the write under way, and cannot be
 * destroyed with an error; this one passes an error on in all three cases.
 */
export class ChannelStream extends Duplex {
  /** The callback of the write or the end under way. */
  private waiting: Done | undefined;
  private readonly stderr: Buffer[] = [];
  /** Why the stream fails once its reader has taken all output. */
  private outcome: Error | undefined;

  /** @param command What was run, where the channel is a command's: its status decides how the stream ends. */
  constructor(
    private readonly channel: ClientChannel,
    private readonly where: string,
    private readonly command?: string,
  ) {
    // A socket that its owner closes ends both ways, as net.Socket does; a command may be fed after its output ends.
    super({ allowHalfOpen: command !== undefined, writableHighWaterMark: WRITE_BUFFER_BYTES });
    channel.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) channel.pause();
    });
    channel.on("end", () => {
      if (command === undefined) this.push(null);
    });
    channel.on("error", (error: Error) => this.destroy(error));
    channel.on("close", (code?: number | null, signal?: string) =>
      this.channelClosed(code ?? undefined, signal),
    );
    channel.stderr.on("data", (chunk: Buffer) => this.stderr.push(chunk));
    channel.pause();
  }

  override _read(): void {
    this.channel.resume();
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (this.outcome !== undefined) this.failWhenDrained(this.outcome);
    return chunk;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    const settle = this.wait(done);
    this.channel.write(chunk, (error) => settle(error));
  }

  override _final(done: Done): void {
    const settle = this.wait(done);
    this.channel.end(() => settle());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.channel.close();
    this.channel.resume(); // what still arrives is read and dropped, so that the channel can end
    this.waiting?.(error ?? new ConnectionLostError(this.where));
    done(error);
  }

  private wait(done: Done): Done {
    const settle: Done = (error) => {
      if (this.waiting !== settle) return;
      this.waiting = undefined;
      done(error);
    };
    this.waiting = settle;
    return settle;
  }

  private channelClosed(code: number | undefined, signal: string | undefined): void {
    if (this.destroyed) return;
    if (this.command !== undefined && code !== 0) {
      const stderr = Buffer.concat(this.stderr).subarray(-STDERR_BYTES).toString("utf8");
      this.outcome = new CommandFailedError(this.where, this.command, code, signal, stderr);
      this.failWhenDrained(this.outcome);
    } else if (this.waiting !== undefined) {
      this.destroy(new ConnectionLostError(this.where)); // the other end left while something was being written
    } else if (this.readableEnded) {
      this.destroy();
    } else {
      this.once("end", () => this.destroy());
      if (this.command !== undefined) this.push(null);
    }
  }

  /** An error drops what a stream still holds, so it waits for the reader. */
  private failWhenDrained(outcome: Error): void {
    if (this.readableLength === 0) process.nextTick(() => this.destroy(outcome));
  }
}
