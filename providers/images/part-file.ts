import { createHash, type Hash } from "node:crypto";
import { ftruncateSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PermanentError } from "../machine/errors";
import type { Digest } from "./digest";

export interface Digests {
  sha256: string;
  sha512: string;
}

/** SHA-256 and SHA-512 side by side: a base is known by both, however it was asked for. */
export class DoubleHash {
  private readonly sha256: Hash;
  private readonly sha512: Hash;

  constructor(copy?: DoubleHash) {
    this.sha256 = copy === undefined ? createHash("sha256") : copy.sha256.copy();
    this.sha512 = copy === undefined ? createHash("sha512") : copy.sha512.copy();
  }

  update(chunk: Uint8Array): void {
    this.sha256.update(chunk);
    this.sha512.update(chunk);
  }

  /** The digests so far; more can follow. */
  digests(): Digests {
    const { sha256, sha512 } = new DoubleHash(this);
    return { sha256: sha256.digest("hex"), sha512: sha512.digest("hex") };
  }
}

/**
 * A file that grows at its end and knows the digests of what it holds. It is
 * written synchronously: a download must not wait (see `consume`), and a write
 * into the page cache takes no longer than the hashing beside it.
 */
export class PartFile {
  private hash = new DoubleHash();
  private length = 0;

  private constructor(
    private readonly handle: FileHandle,
    readonly path: string,
  ) {}

  /** Opens or creates it; what it holds already is hashed and kept. */
  static async open(path: string): Promise<PartFile> {
    const handle = await open(path, "a+", 0o600).catch((error) => {
      throw cacheFault(error, path);
    });
    const part = new PartFile(handle, path);
    try {
      for await (const chunk of readChunks(handle)) part.count(chunk);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return part;
  }

  get size(): number {
    return this.length;
  }

  append(chunk: Buffer): void {
    try {
      let written = 0;
      while (written < chunk.length) written += writeSync(this.handle.fd, chunk, written);
    } catch (error) {
      throw cacheFault(error, this.path);
    }
    this.count(chunk);
  }

  /** Empties it. */
  reset(): void {
    ftruncateSync(this.handle.fd, 0);
    this.hash = new DoubleHash();
    this.length = 0;
  }

  digests(): Digests {
    return this.hash.digests();
  }

  matches(expected: Digest): boolean {
    return this.digests()[expected.algorithm] === expected.hex;
  }

  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private count(chunk: Buffer): void {
    this.hash.update(chunk);
    this.length += chunk.length;
  }
}

/** A file's bytes from its start. */
export function readChunks(handle: FileHandle): AsyncIterable<Buffer> {
  return handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 18 });
}

/** The digests and the size of a file as it is now. */
export async function hashFile(path: string): Promise<Digests & { size: number }> {
  const hash = new DoubleHash();
  let size = 0;
  const handle = await open(path, "r");
  try {
    for await (const chunk of readChunks(handle)) {
      hash.update(chunk);
      size += chunk.length;
    }
  } finally {
    await handle.close();
  }
  return { ...hash.digests(), size };
}

/** A fault of the operator's own disk. */
export function cacheFault(error: unknown, path: string): PermanentError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new PermanentError({
    reason: code === "ENOSPC" || code === "EDQUOT" ? "CacheDiskFull" : "CacheUnwritable",
    where: path,
    message: `the image cache cannot be written (${message})`,
    remedy: "Free space there, or set EGRESS_CACHE to another directory.",
    cause: error,
  });
}
