import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { z } from "zod";
import type { Digest } from "./digest";
import { cacheFault } from "./part-file";
import { processLiveness, processToken } from "./process-token";

export interface CacheOptions {
  /** Default: `images` in `$EGRESS_CACHE`, else in `$XDG_CACHE_HOME/egress-proxies`, else in `~/.cache/egress-proxies`. */
  cacheDir?: string;
  /** What the images may take together, in bytes; what a living process uses may exceed it. Default 20 GiB. */
  maxCacheBytes?: number;
}

export const DEFAULT_MAX_CACHE_BYTES = 20 * 1024 ** 3;
const DAY_MS = 24 * 60 * 60 * 1000;

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));

const entrySchema = z.object({
  version: z.literal(1),
  /** Where it came from first, without credentials, and the digests of the bytes as they came. */
  source: z.object({ url: z.string(), sha256: hex(64), sha512: hex(128) }),
  /** Of the unpacked image. */
  sha256: hex(64),
  size: z.int().positive(),
  format: z.enum(["qcow2", "raw"]),
  virtualSize: z.int().positive(),
});

/** What the cache knows about an image. */
export type CacheRecord = z.infer<typeof entrySchema>;

/** An image in the cache. */
export interface CacheEntry extends CacheRecord {
  path: string;
  /** Milliseconds since the epoch. */
  lastUsed: number;
  /** A living process has it open. */
  inUse: boolean;
}

export function cacheDirectory(options: CacheOptions, env: NodeJS.ProcessEnv = process.env): string {
  const { EGRESS_CACHE: own, XDG_CACHE_HOME: xdg } = env;
  const base = own || join(xdg || join(homedir(), ".cache"), "egress-proxies");
  return options.cacheDir ?? join(base, "images");
}

export function maxCacheBytes(options: CacheOptions): number {
  return options.maxCacheBytes ?? DEFAULT_MAX_CACHE_BYTES;
}

/** The images in the cache, the one used last first. */
export async function listCache(options: CacheOptions = {}): Promise<CacheEntry[]> {
  const entries = join(cacheDirectory(options), "entries");
  const found = await Promise.all((await names(entries)).map((name) => readEntry(join(entries, name))));
  return found.filter((entry) => entry !== undefined).sort((a, b) => b.lastUsed - a.lastUsed);
}

/**
 * Takes away the images used longest ago until the rest keeps to the limit,
 * and what ended processes left behind. Never what a living process uses.
 *
 * @param options with `dryRun` nothing is taken away but the marks of ended
 * processes, without which their images would count as in use
 * @returns the images taken away, or that would be
 */
export async function pruneCache(options: CacheOptions & { dryRun?: boolean } = {}): Promise<CacheEntry[]> {
  const dir = cacheDirectory(options);
  await clearDeadLinks(dir);
  if (!options.dryRun) await clearOldParts(dir);
  const entries = await listCache(options);
  const removed: CacheEntry[] = [];
  let kept = entries.reduce((sum, { size, inUse }) => sum + (inUse ? size : 0), 0);
  for (const entry of entries.filter(({ inUse }) => !inUse)) {
    if (kept + entry.size <= maxCacheBytes(options)) {
      kept += entry.size;
    } else {
      if (!options.dryRun) await removeEntry(dir, entry.source.sha256);
      removed.push(entry);
    }
  }
  return removed;
}

/**
 * Finds an image by the digest of its source bytes and takes hold of it: the
 * path returned is a hard link of this process's own, so no other process's
 * pruning can take the bytes away.
 */
export async function takeFromCache(dir: string, digest: Digest): Promise<CacheEntry | undefined> {
  const entries = await listCache({ cacheDir: dir });
  const entry = entries.find(({ source }) => source[digest.algorithm] === digest.hex);
  if (entry === undefined) return undefined;
  const own = join(dir, "in-use", processToken());
  const path = join(own, `${entry.source.sha256}.${entry.format}`);
  try {
    await mkdir(own, { recursive: true });
    await link(entry.path, path).catch(async (error) => {
      if (error.code !== "EEXIST") throw error;
      if ((await stat(path)).ino === (await stat(entry.path)).ino) return;
      await rm(path, { force: true }); // a link to bytes since replaced
      await link(entry.path, path);
    });
    await utimes(join(dir, "entries", entry.source.sha256), new Date(), new Date());
  } catch (error) {
    if (isMissing(error)) return undefined; // pruned at this moment
    throw cacheFault(error, path);
  }
  return { ...entry, path, inUse: true };
}

/** Moves a finished image into the cache: the directory appears whole, by one rename. */
export async function putIntoCache(dir: string, image: string, record: CacheRecord): Promise<void> {
  const staging = await scratchPath(dir, record.source.sha256);
  const entries = join(dir, "entries");
  try {
    await mkdir(entries, { recursive: true });
    await mkdir(staging);
    await rename(image, join(staging, "image"));
    await writeSynced(join(staging, "record.json"), `${JSON.stringify(record)}\n`);
    await syncDirectory(staging);
    const place = join(entries, record.source.sha256);
    await rename(staging, place).catch(async (error) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
      if ((await readEntry(place)) !== undefined) return; // another process was first with the same bytes
      await removeEntry(dir, record.source.sha256);
      await rename(staging, place);
    });
    await syncDirectory(entries);
  } catch (error) {
    throw cacheFault(error, dir);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Drops an image at once, in use or not: for bytes that turned out to be damaged. */
export async function removeEntry(dir: string, sha256: string): Promise<void> {
  const doomed = await scratchPath(dir, sha256);
  try {
    await rename(join(dir, "entries", sha256), doomed);
  } catch (error) {
    if (!isMissing(error)) throw cacheFault(error, dir);
  }
  await rm(doomed, { recursive: true, force: true });
}

/** A name of nobody else's, in the directory for what is not finished. */
export async function scratchPath(dir: string, hex: string): Promise<string> {
  return join(await partialDirectory(dir), `${hex}.${processToken()}.${randomBytes(4).toString("hex")}`);
}

async function partialDirectory(dir: string): Promise<string> {
  const partial = join(dir, "partial");
  await mkdir(partial, { recursive: true }).catch((error) => {
    throw cacheFault(error, partial);
  });
  return partial;
}

/** A part file for a download: an ended process's one is taken over, so that its bytes need not come again. */
export async function partPath(dir: string, { hex }: Digest): Promise<string> {
  const partial = await partialDirectory(dir);
  const own = join(partial, `${hex}.${processToken()}.part`);
  const present = await names(partial);
  if (present.includes(basename(own))) return own;
  const orphan = present.find((name) => {
    const [hash, token, kind] = name.split(".");
    return hash === hex && kind === "part" && processLiveness(token ?? "") === "dead";
  });
  // Of several takers only one's rename succeeds; the others begin anew.
  if (orphan !== undefined) await rename(join(partial, orphan), own).catch(ignoreMissing);
  return own;
}

async function clearDeadLinks(dir: string): Promise<void> {
  const inUse = join(dir, "in-use");
  for (const token of await names(inUse)) {
    const path = join(inUse, token);
    const liveness = processLiveness(token);
    const gone = liveness === "dead" || (liveness === "elsewhere" && (await ageMs(path)) > 7 * DAY_MS);
    if (gone) await rm(path, { recursive: true, force: true });
  }
}

/** What ended processes did not finish stays a day, to be taken over. */
async function clearOldParts(dir: string): Promise<void> {
  const partial = join(dir, "partial");
  for (const name of await names(partial)) {
    const path = join(partial, name);
    const alive = processLiveness(name.split(".")[1] ?? "") === "alive";
    if (!alive && (await ageMs(path)) > DAY_MS) await rm(path, { recursive: true, force: true });
  }
}

async function readEntry(path: string): Promise<CacheEntry | undefined> {
  try {
    const record = entrySchema.safeParse(JSON.parse(await readFile(join(path, "record.json"), "utf8")));
    const image = await stat(join(path, "image"));
    if (!record.success || image.size !== record.data.size) return undefined;
    const { mtimeMs } = await stat(path);
    return { ...record.data, path: join(path, "image"), lastUsed: mtimeMs, inUse: image.nlink > 1 };
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw cacheFault(error, path);
  }
}

async function ageMs(path: string): Promise<number> {
  const found = await stat(path).catch(ignoreMissing);
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
}

async function names(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(ignoreMissing)) ?? [];
}

async function writeSynced(path: string, text: string): Promise<void> {
  const handle = await open(path, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
