import { open, rm } from "node:fs/promises";
import { PermanentError, TransientError } from "../machine/errors";
import type { ImageRef } from "../machine/spec";
import {
  type CacheOptions,
  cacheDirectory,
  maxCacheBytes,
  partPath,
  pruneCache,
  putIntoCache,
  removeEntry,
  scratchPath,
  takeFromCache,
} from "./cache";
import { resolveDigest } from "./checksum";
import { type Compression, decompress, detectCompression } from "./compression";
import { type Digest, formatDigest } from "./digest";
import { type DownloadOptions, download } from "./download";
import { type Location, parseLocation, withoutCredentials } from "./location";
import { type Digests, hashFile, PartFile } from "./part-file";
import { type ImageFormat, type ImageKind, SNIFF_BYTES, sniffImage } from "./sniff";

/** A verified, unpacked image on this machine. */
export interface LocalImage {
  path: string;
  /** Of the bytes at `path`. */
  sha256: string;
  /** Of the bytes at `path`. */
  size: number;
  format: ImageFormat;
  /** What a guest sees as the disk's size, in bytes. */
  virtualSize: number;
  /** The digests of the bytes as they came, before unpacking. */
  source: Digests;
}

export interface ImageProgress {
  phase: "download" | "unpack" | "hash" | "upload";
  /** In `upload`: those that are on the host and read back. */
  bytes: number;
  /** Unknown where the server does not tell. */
  total?: number;
}

export interface OpenImageOptions extends CacheOptions {
  /** Where relative paths start. Default: the working directory. */
  root?: string;
  /** The machine's disk in bytes: an image with a larger virtual size is refused. */
  maxVirtualSize?: number;
  /** How the download deals with a bad network. */
  transfer?: Pick<DownloadOptions, "attempts" | "delayMs" | "limits" | "clock">;
  onProgress?: (progress: ImageProgress) => void;
}

const underWay = new Map<string, Promise<LocalImage>>();

/**
 * Brings an image onto this machine: fetched, checked against its digest,
 * unpacked and recognised. A local image that is not packed is used where it
 * lies; every other one is kept in the cache under the digest of its source.
 *
 * @throws PermanentError `ChecksumMismatch`, `NotAnImage`, `UnsupportedImage`,
 * `CorruptImage`, `ImageTooLarge`, `ImageMissing`, `ImageUnavailable` and others
 * @throws TransientError where the network failed for longer than the attempts last
 */
export async function openImage(ref: ImageRef, options: OpenImageOptions = {}): Promise<LocalImage> {
  const digest = await resolveDigest(ref, options);
  const location = parseLocation(ref.url, options.root ?? process.cwd());
  const dir = cacheDirectory(options);
  const flight = `${dir}\n${formatDigest(digest)}\n${location.kind === "file" ? location.path : ""}`;
  let opening = underWay.get(flight);
  if (opening === undefined) {
    opening = bring(location, digest, dir, options).finally(() => underWay.delete(flight));
    underWay.set(flight, opening);
  }
  const image = await opening;
  refuseLarger(ref, image, options.maxVirtualSize);
  return image;
}

/** @throws PermanentError `ImageTooLarge` where the image does not fit into the machine's disk. */
export function refuseLarger(
  ref: ImageRef,
  { virtualSize }: { virtualSize: number },
  maxVirtualSize: number | undefined,
): void {
  if (maxVirtualSize === undefined || virtualSize <= maxVirtualSize) return;
  throw new PermanentError({
    reason: "ImageTooLarge",
    where: withoutCredentials(ref.url),
    message: `the image is a disk of ${virtualSize} bytes, the machine's disk has ${maxVirtualSize}`,
    remedy: `Set diskGiB to ${Math.ceil(virtualSize / 1024 ** 3)} or more.`,
  });
}

async function bring(
  location: Location,
  digest: Digest,
  dir: string,
  options: OpenImageOptions,
): Promise<LocalImage> {
  return location.kind === "file"
    ? openLocal(location.path, digest, dir, options)
    : ((await takeFromCache(dir, digest)) ?? fetchImage(location.url, digest, dir, options));
}

async function openLocal(
  path: string,
  digest: Digest,
  dir: string,
  options: OpenImageOptions,
): Promise<LocalImage> {
  const { size, ...source } = await hashFile(path).catch((error) => {
    throw unreadable(path, error);
  });
  options.onProgress?.({ phase: "hash", bytes: size, total: size });
  if (source[digest.algorithm] !== digest.hex) {
    throw new PermanentError({
      reason: "ChecksumMismatch",
      where: path,
      message: `the file has ${digest.algorithm} ${source[digest.algorithm]} instead of ${formatDigest(digest)}`,
      remedy: "Correct the digest, or bring the right file.",
    });
  }
  const head = await readHead(path);
  const compression = detectCompression(head);
  if (compression === undefined) {
    return { path, sha256: source.sha256, size, ...sniffImage(head, size, path), source };
  }
  const cached = await takeFromCache(dir, digest);
  return cached ?? (await unpackIntoCache(path, path, compression, source, dir, options));
}

async function fetchImage(
  url: URL,
  digest: Digest,
  dir: string,
  options: OpenImageOptions,
): Promise<LocalImage> {
  const shown = withoutCredentials(url.href);
  const path = await partPath(dir, digest);
  const part = await PartFile.open(path);
  try {
    await download(url, digest, part, {
      ...options.transfer,
      maxBytes: maxCacheBytes(options),
      onProgress: (bytes, total) =>
        options.onProgress?.({ phase: "download", bytes, ...(total === undefined ? {} : { total }) }),
    });
    await part.sync();
  } finally {
    await part.close();
  }
  const source = part.digests();
  try {
    const head = await readHead(path);
    const compression = detectCompression(head);
    if (compression !== undefined) {
      return await unpackIntoCache(path, shown, compression, source, dir, options);
    }
    const kind = sniffImage(head, part.size, shown);
    return await keep(path, shown, { sha256: source.sha256, size: part.size, ...kind }, source, dir, options);
  } finally {
    await rm(path, { force: true });
  }
}

async function unpackIntoCache(
  packed: string,
  where: string,
  compression: Compression,
  source: Digests,
  dir: string,
  options: OpenImageOptions,
): Promise<LocalImage> {
  const path = await scratchPath(dir, source.sha256);
  const part = await PartFile.open(path);
  try {
    for await (const chunk of decompress(packed, compression)) {
      part.append(chunk);
      options.onProgress?.({ phase: "unpack", bytes: part.size });
      if (part.size > maxCacheBytes(options)) throw bomb(where, maxCacheBytes(options));
    }
    await part.sync();
    const kind = sniffImage(await readHead(path), part.size, where);
    const unpacked = { sha256: part.digests().sha256, size: part.size, ...kind };
    return await keep(path, where, unpacked, source, dir, options);
  } finally {
    await part.close();
    await rm(path, { force: true });
  }
}

async function keep(
  path: string,
  url: string,
  image: ImageKind & { sha256: string; size: number },
  source: Digests,
  dir: string,
  options: OpenImageOptions,
): Promise<LocalImage> {
  await putIntoCache(dir, path, { version: 1, source: { url, ...source }, ...image });
  const kept = await takeFromCache(dir, { algorithm: "sha256", hex: source.sha256 });
  if (kept === undefined) {
    throw new TransientError({
      reason: "CacheEmptied",
      where: dir,
      message: "the image was taken out of the cache the moment it came in",
      remedy: "Run again.",
    });
  }
  await pruneCache(options);
  return kept;
}

async function readHead(path: string): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SNIFF_BYTES), 0, SNIFF_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function unreadable(path: string, error: NodeJS.ErrnoException): PermanentError {
  return new PermanentError({
    reason: "ImageMissing",
    where: path,
    message: `the file cannot be read (${error.code})`,
    remedy: "Correct the path, or bring the file there.",
    cause: error,
  });
}

function bomb(where: string, limit: number): PermanentError {
  return new PermanentError({
    reason: "DownloadTooLarge",
    where,
    message: `unpacked, the image is larger than the cache's limit of ${limit} bytes`,
    remedy: "Raise the cache's limit, or use another image.",
  });
}

/** Forgets what the cache holds of an image whose file turned out to be damaged. */
export async function discardImage(image: LocalImage, options: CacheOptions): Promise<void> {
  await removeEntry(cacheDirectory(options), image.source.sha256);
}
