import { z } from "zod";
import { PermanentError } from "../machine/errors";
import { type Digest, formatDigest } from "./digest";
import { type BaseNaming, baseTitle } from "./naming";

/** A marker is one small write, so that two writers never mix; a longer one is no marker. */
const MARKER_BLOCK = 4096;
export const MAX_MARKER_BYTES = 16 * MARKER_BLOCK;

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));

const markerSchema = z.object({
  version: z.literal(1),
  key: z.string(),
  entry: z.string().optional(),
  /** The data volume, in the marker's own pool, and its path on the host. */
  volume: z.string().min(1),
  path: z.string().min(1),
  /** Of the published bytes. */
  sha256: hex(64),
  size: z.int().positive(),
  format: z.enum(["qcow2", "raw"]),
  virtualSize: z.int().positive(),
  /** Where the image came from, without credentials, and the digests of the bytes as they came. */
  source: z.object({ url: z.string(), sha256: hex(64), sha512: hex(128) }),
  /** For people: which process published it, and when by that machine's clock (ISO 8601). */
  publisher: z.string(),
  published: z.string(),
});

/** What makes a base: it names the data volume and says what must be in it. */
export type Marker = z.infer<typeof markerSchema>;

export function renderMarker(marker: Marker): Buffer {
  const text = Buffer.from(`${JSON.stringify(marker, null, 1)}\n`);
  const padding = Buffer.alloc((MARKER_BLOCK - (text.length % MARKER_BLOCK)) % MARKER_BLOCK, "\n");
  return Buffer.concat([text, padding]);
}

/** Undefined for what an interrupted publisher left: nothing, half of it, or a mixture. */
export function parseMarker(bytes: Buffer): Marker | undefined {
  try {
    const parsed = markerSchema.safeParse(JSON.parse(bytes.toString("utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** The image that a base is wanted from. */
export interface WantedSource {
  /** Without credentials. */
  url: string;
  digest: Digest;
}

/**
 * Refuses a base that was published for something else than what is wanted now.
 *
 * @throws PermanentError `BaseNameConflict`: another entry and key with the same volume name;
 * `ImageKeyConflict`: the same key with another url or digest
 */
export function refuseConflict(
  marker: Marker,
  naming: BaseNaming,
  { url, digest }: WantedSource,
  where: string,
): void {
  if (marker.key !== naming.key || marker.entry !== naming.entry) {
    throw new PermanentError({
      reason: "BaseNameConflict",
      where,
      message: `${baseTitle(naming)} and ${baseTitle(marker)}, which is there already, have the same volume name`,
      remedy: "Give the image another key.",
    });
  }
  const there = marker.source[digest.algorithm];
  if (marker.source.url === url && there === digest.hex) return;
  throw new PermanentError({
    reason: "ImageKeyConflict",
    where,
    message:
      `${baseTitle(naming)} was published from ${marker.source.url} ` +
      `(${formatDigest({ algorithm: digest.algorithm, hex: there })}), ` +
      `and is now to be ${url} (${formatDigest(digest)})`,
    remedy: "Machines run on a published base, so it never changes: give the other image a key of its own.",
  });
}
