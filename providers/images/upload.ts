import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { StorageVol } from "../libvirt";
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

/**
 * Streams an image from its file into an empty volume and reads it back at the
 * same time. Returns once the volume holds exactly the image's bytes: neither
 * the daemon's OK nor the size alone proves that.
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
  const stop = new AbortController();
  const interrupt = () => stop.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", interrupt);
  if (options.signal?.aborted) interrupt();
  const work = new Upload(host, volume, image, options, stop.signal);
  try {
    // Whichever side fails first stops the other, and its error is the one that counts.
    const fail = (error: unknown) => stop.abort(error);
    await Promise.all([work.send().catch(fail), work.readBack().catch(fail)]);
    if (stop.signal.aborted) throw stop.signal.reason;
  } finally {
    options.signal?.removeEventListener("abort", interrupt);
  }
}

class Upload {
  private readonly verified: Progress;
  private sentAt: number | undefined;

  constructor(
    private readonly host: PublishHost,
    private readonly volume: StorageVol,
    private readonly image: LocalImage,
    private readonly options: UploadOptions,
    private readonly signal: AbortSignal,
  ) {
    this.verified = new Progress(signal);
  }

  async send(): Promise<void> {
    const { signal } = this;
    await (await this.host.bulk()).storageVolUpload(this.volume, this.source(), { signal });
    this.sentAt = this.options.clock.now();
  }

  async readBack(): Promise<void> {
    const { size, sha256 } = this.image;
    const hash = createHash("sha256");
    const bulk = await this.host.bulk();
    while (this.verified.value < size) {
      const offset = this.verified.value;
      const length = await this.writtenFrom(offset);
      const range = { offset: BigInt(offset), length: BigInt(length), signal: this.signal };
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
  private async *source(): AsyncIterable<Buffer> {
    const hash = createHash("sha256");
    let sent = 0;
    const handle = await open(this.image.path, "r");
    try {
      for await (const chunk of readChunks(handle)) {
        hash.update(chunk);
        sent += chunk.length;
        if (sent > this.image.size) break;
        await this.verified.reaches(sent - READ_BACK_WINDOW);
        yield chunk;
      }
    } finally {
      await handle.close();
    }
    if (sent !== this.image.size || hash.digest("hex") !== this.image.sha256) throw imageChanged(this.image);
  }

  /** Waits until a piece is written beyond `offset`, and returns how much there is. */
  private async writtenFrom(offset: number): Promise<number> {
    const { clock } = this.options;
    const { size } = this.image;
    for (;;) {
      this.signal.throwIfAborted();
      const acknowledged = this.sentAt;
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

/** A count that one side raises and the other waits for. */
class Progress {
  value = 0;
  private waiting: (() => void)[] = [];

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener("abort", () => this.wake(), { once: true });
  }

  advance(by: number): void {
    this.value += by;
    this.wake();
  }

  async reaches(target: number): Promise<void> {
    while (this.value < target) {
      this.signal.throwIfAborted();
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
