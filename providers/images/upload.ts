import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { LibvirtClosedError, LibvirtTimeoutError, type StorageVol } from "../libvirt";
import { type PermanentError, TransientError } from "../machine/errors";
import type { Clock } from "../machine/retry";
import type { LocalImage } from "./open";
import { readChunks } from "./part-file";
import { type PublishHost, shownHost } from "./publish-host";
import { physicalSize } from "./volumes";

export interface UploadOptions {
  clock: Clock;
  signal?: AbortSignal;
  /** Called with the bytes that are on the host and read back. */
  onProgress?: (bytes: number, total: number) => void;
}

const MIB = 1024 * 1024;

/**
 * How far the upload may run ahead of the read-back. The base is not ready
 * before both are done, so waiting costs nothing; and while an attempt lives it
 * keeps growing, which is what others tell its life by.
 */
const READ_BACK_WINDOW = 64 * MIB;
/** A read-back piece is at least so large, except the last one. */
const READ_BACK_PIECE = 8 * MIB;
const POLL_MS = 100;
/** How long the daemon may take to write what it has acknowledged. */
const SETTLE_MS = 10_000;

/** Passes in a row that verified nothing more before an upload gives up. */
const MAX_IDLE_PASSES = 4;

/**
 * Streams an image from its file into an empty volume and reads it back at the
 * same time. Returns once the volume holds exactly the image's bytes: neither
 * the daemon's OK nor the size alone proves that. Where the line breaks, the
 * upload goes on behind the last byte that was read back: the volume is this
 * attempt's alone, and a late write of the broken stream holds the same bytes.
 *
 * @throws TransientError `ImageChanged` (the file is no longer what was verified),
 * `UploadIncomplete`, `UploadDamaged`; and what the libvirt client throws
 */
export async function uploadVerified(
  host: PublishHost,
  volume: StorageVol,
  image: LocalImage,
  options: UploadOptions,
): Promise<void> {
  const upload = new Upload(host, volume, image, options);
  for (let idle = 0; ; ) {
    const before = upload.verifiedBytes;
    try {
      return await upload.pass();
    } catch (error) {
      if (!lineBroke(error) || options.signal?.aborted) throw error;
      idle = upload.verifiedBytes > before ? 0 : idle + 1;
      if (idle === MAX_IDLE_PASSES) throw error;
      await options.clock.sleep(1000 * 2 ** idle);
    }
  }
}

/** What an upload finds out about its bytes itself; another pass over the same ones would not mend it. */
const FINDINGS: ReadonlySet<string> = new Set(["ImageChanged", "UploadIncomplete", "UploadDamaged"]);

function lineBroke(error: unknown): boolean {
  if (error instanceof TransientError) return !FINDINGS.has(error.reason);
  return error instanceof LibvirtClosedError || error instanceof LibvirtTimeoutError;
}

class Upload {
  private readonly verified = new Progress();
  private readonly readBackHash = createHash("sha256");

  constructor(
    private readonly host: PublishHost,
    private readonly volume: StorageVol,
    private readonly image: LocalImage,
    private readonly options: UploadOptions,
  ) {}

  /** Bytes that are on the host and were read back. */
  get verifiedBytes(): number {
    return this.verified.value;
  }

  /** Sends and reads back all that is not verified yet. */
  async pass(): Promise<void> {
    const stop = new AbortController();
    const outer = this.options.signal;
    const interrupt = () => stop.abort(outer?.reason);
    outer?.addEventListener("abort", interrupt);
    if (outer?.aborted) interrupt();
    const release = this.verified.endWaitingOn(stop.signal);
    try {
      // Whichever side fails first stops the other, and its error is the one that counts.
      const fail = (error: unknown) => stop.abort(error);
      const sent: Sent = { at: undefined };
      await Promise.all([
        this.send(sent, stop.signal).catch(fail),
        this.readBack(sent, stop.signal).catch(fail),
      ]);
      if (stop.signal.aborted) throw stop.signal.reason;
    } finally {
      release();
      outer?.removeEventListener("abort", interrupt);
    }
  }

  private async send(sent: Sent, signal: AbortSignal): Promise<void> {
    const offset = this.verified.value;
    const bulk = await this.host.bulk();
    await bulk.storageVolUpload(this.volume, this.source(offset, signal), { offset: BigInt(offset), signal });
    sent.at = this.options.clock.now();
  }

  private async readBack(sent: Sent, signal: AbortSignal): Promise<void> {
    const { size, sha256 } = this.image;
    const hash = this.readBackHash;
    const bulk = await this.host.bulk();
    while (this.verified.value < size) {
      const offset = this.verified.value;
      const length = await this.writtenFrom(offset, sent, signal);
      const range = { offset: BigInt(offset), length: BigInt(length), signal };
      for await (const chunk of bulk.storageVolDownload(this.volume, range)) {
        hash.update(chunk);
        this.verified.advance(chunk.length);
      }
      if (this.verified.value !== offset + length) throw this.damaged("gave back less than it holds");
      this.options.onProgress?.(this.verified.value, size);
    }
    const present = await this.present();
    if (present !== size) throw this.damaged(`holds ${present} bytes instead of ${size}`);
    if (hash.digest("hex") !== sha256) throw this.damaged("holds other bytes than were sent");
  }

  /** The file's bytes, no further ahead of the read-back than the window, checked against what was verified. */
  private async *source(offset: number, signal: AbortSignal): AsyncIterable<Buffer> {
    const hash = createHash("sha256");
    let sent = 0;
    const handle = await open(this.image.path, "r");
    try {
      for await (const chunk of readChunks(handle)) {
        hash.update(chunk);
        sent += chunk.length;
        if (sent > this.image.size) break;
        if (sent <= offset) continue;
        await this.verified.reaches(sent - READ_BACK_WINDOW, signal);
        yield chunk.subarray(Math.max(0, chunk.length - (sent - offset)));
      }
    } finally {
      await handle.close();
    }
    if (sent !== this.image.size || hash.digest("hex") !== this.image.sha256) throw imageChanged(this.image);
  }

  /** Waits until a piece is written beyond `offset`, and returns how much there is. */
  private async writtenFrom(offset: number, sent: Sent, signal: AbortSignal): Promise<number> {
    const { clock } = this.options;
    const { size } = this.image;
    for (;;) {
      signal.throwIfAborted();
      const acknowledged = sent.at;
      const written = Math.min(await this.present(), size) - offset;
      if (written >= Math.min(READ_BACK_PIECE, size - offset)) return written;
      if (acknowledged !== undefined && clock.now() - acknowledged > SETTLE_MS) {
        throw uploadIncomplete(
          this.host,
          `holds ${offset + written} of ${size} bytes, though libvirt took them all`,
        );
      }
      await clock.sleep(POLL_MS);
    }
  }

  private async present(): Promise<number> {
    const size = await physicalSize(await this.host.calls(), this.volume);
    if (size === undefined) throw this.damaged("was deleted during the upload");
    return size;
  }

  private damaged(what: string): TransientError {
    return new TransientError({
      reason: "UploadDamaged",
      where: shownHost(this.host),
      message: `volume ${this.volume.name} ${what}`,
      remedy: "Run again; if it recurs, check the host's disk.",
    });
  }
}

/** When the daemon had acknowledged all bytes of a pass, in milliseconds since the epoch. */
interface Sent {
  at: number | undefined;
}

/** A count that one side raises and the other waits for. */
class Progress {
  value = 0;
  private waiting: (() => void)[] = [];

  /** Wakes who waits once `signal` fires. Returns what ends that. */
  endWaitingOn(signal: AbortSignal): () => void {
    const wake = () => this.wake();
    signal.addEventListener("abort", wake);
    return () => signal.removeEventListener("abort", wake);
  }

  advance(by: number): void {
    this.value += by;
    this.wake();
  }

  async reaches(target: number, signal: AbortSignal): Promise<void> {
    while (this.value < target) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

export function uploadIncomplete(host: PublishHost, what: string): TransientError {
  return new TransientError({
    reason: "UploadIncomplete",
    where: shownHost(host),
    message: `the uploaded volume ${what}`,
    remedy: "Run again; if it recurs, look at libvirtd's log on the host.",
  });
}

function imageChanged(image: LocalImage): TransientError | PermanentError {
  return new TransientError({
    reason: "ImageChanged",
    where: image.path,
    message: "the image's file changed after it was verified",
    remedy: "Run again; it is then fetched or hashed anew.",
  });
}
