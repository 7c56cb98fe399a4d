import type { CacheEntry } from "@egress-proxies/providers/images/cache";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

export function size(bytes: number): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}

/** One line an image: when it was used last (UTC), its size, whether a run has it open, digest and origin. */
export function imageLines(entries: readonly CacheEntry[]): string[] {
  return entries.map(({ lastUsed, size: bytes, inUse, source }) =>
    [
      new Date(lastUsed).toISOString().slice(0, 16).replace("T", " "),
      size(bytes).padStart(10),
      inUse ? "in use" : "      ",
      `sha256-${source.sha256.slice(0, 16)}`,
      source.url,
    ].join("  "),
  );
}

export function total(entries: readonly CacheEntry[]): string {
  const bytes = entries.reduce((sum, entry) => sum + entry.size, 0);
  return `${entries.length} ${entries.length === 1 ? "image" : "images"}, ${size(bytes)}`;
}
