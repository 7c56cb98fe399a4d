import { EgressError, PermanentError, TransientError } from "../machine/errors";
import { systemClock } from "../machine/retry";
import type { ImageRef } from "../machine/spec";
import { requireRoom, withAttempt } from "./attempt";
import { resolveDigest } from "./checksum";
import { commitBase } from "./commit";
import { clearDebris } from "./debris";
import { type Digest, formatDigest } from "./digest";
import { withoutCredentials } from "./location";
import { MAX_MARKER_BYTES, refuseConflict } from "./marker";
import { type BaseNaming, baseStem, baseTitle, markerName } from "./naming";
import { type BaseState, observeSettled, type PublishedBase } from "./observe";
import { discardImage, type OpenImageOptions, openImage, refuseLarger } from "./open";
import type { Publication, PublicationTiming } from "./publication";
import { hostFault, orPoolInactive, type PublishHost, shownHost } from "./publish-host";
import { findReferences } from "./references";
import { refuseUnmarkedInUse } from "./unmarked";
import { deleteVolume, readSmallVolume, volumeNamed } from "./volumes";

export interface EnsureBaseOptions extends OpenImageOptions, PublicationTiming {
  /** Stops an upload; what it left is deleted, or collected later. */
  signal?: AbortSignal;
  /** What a person should know though nothing failed. */
  report?: (note: string) => void;
}

/** Each round that does not succeed met another publisher's work. */
const MAX_ROUNDS = 5;

const flights = new Map<string, { identity: string; base: Promise<PublishedBase> }>();

/**
 * The base image on a host: the one that is published there, else it is brought
 * there. Two calls where it is published. Safe at any point against a crash of
 * this process or the daemon, a cut connection, and other publishers of the same
 * base on any machine. Within the process one publication serves all who wait.
 *
 * @throws PermanentError `ImageKeyConflict`, `BaseNameConflict`, `BaseDamaged`, `BaseUnmarked`, `PoolFull`,
 * `PoolMissing`, `PoolInactive`, `ImageTooLarge`, and what `openImage` throws
 * @throws TransientError where another run may succeed
 */
export async function ensureBase(
  host: PublishHost,
  naming: BaseNaming,
  ref: ImageRef,
  options: EnsureBaseOptions = {},
): Promise<PublishedBase> {
  const place = JSON.stringify([host.name, host.pool, baseStem(naming)]);
  const identity = JSON.stringify([
    naming.entry,
    naming.key,
    ref.url,
    ref.sha256,
    options.root,
    options.maxVirtualSize,
  ]);
  for (let flight = flights.get(place); flight !== undefined; flight = flights.get(place)) {
    if (flight.identity === identity) return flight.base;
    await flight.base.catch(() => undefined); // its outcome is for its own callers
  }
  const clock = options.clock ?? systemClock;
  const base = publishOrAdopt({ host, naming, ref, options: { ...options, clock } })
    .catch(async (error) => {
      throw hostFault(host, await orPoolInactive(host, error));
    })
    .finally(() => flights.delete(place));
  flights.set(place, { identity, base });
  return base;
}

async function publishOrAdopt(job: Publication): Promise<PublishedBase> {
  const { host, naming, ref, options } = job;
  const digest = await resolveDigest(ref, options);
  const wanted = { url: withoutCredentials(ref.url), digest };
  let contested = false;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    options.signal?.throwIfAborted();
    const seen = await observeSettled(host, naming, options.markerWaitMs ?? 10_000, options.clock);
    if ("marker" in seen) refuseConflict(seen.marker, naming, wanted, shownHost(host));
    if (seen.state === "published") {
      refuseLarger(ref, seen.base, options.maxVirtualSize);
      return seen.base;
    }
    await refuseUnmarkedInUse(host, naming);
    if (seen.state !== "absent") {
      contested = true;
      if (!(await retireMarker(job, seen))) continue;
    }
    const published = await publish(job, digest, contested);
    if (published !== undefined) return published;
  }
  throw new TransientError({
    reason: "PublicationContested",
    where: shownHost(host),
    message: `others keep publishing ${baseTitle(naming)} at the same time`,
    remedy: "Run again once they are done.",
  });
}

/** Brings the image there and makes it the base; undefined where another publisher was first. */
async function publish(
  job: Publication,
  digest: Digest,
  contested: boolean,
): Promise<PublishedBase | undefined> {
  const failed = new AbortController();
  const debris = clearDebris(job.host, job.naming, { ...job.options, signal: failed.signal });
  try {
    return await upload(job, digest, contested, debris);
  } catch (error) {
    failed.abort();
    throw error;
  } finally {
    // Nothing of a publication is at work on the host after it ended.
    await debris;
  }
}

async function upload(
  job: Publication,
  digest: Digest,
  contested: boolean,
  debris: Promise<void>,
): Promise<PublishedBase | undefined> {
  const { host, naming, ref, options } = job;
  const image = await openImage({ ...ref, sha256: formatDigest(digest) }, options);
  const pool = await (await host.calls()).storagePoolLookupByName(host.pool);
  await requireRoom(host, pool, image, options).catch(async (error) => {
    if (!(error instanceof PermanentError)) throw error;
    await debris;
    await requireRoom(host, pool, image, options);
  });
  const onProgress = (bytes: number, total: number) =>
    options.onProgress?.({ phase: "upload", bytes, total });
  try {
    return await withAttempt(host, naming, image, { ...options, onProgress }, (volume) =>
      commitBase(job, { pool, volume, image, contested }),
    );
  } catch (error) {
    if (error instanceof EgressError && error.reason === "ImageChanged") await discardImage(image, options);
    throw error;
  }
}

/**
 * Takes away a marker that stands for nothing, unless it changed since it was
 * looked at. Returns whether it is gone. A base that is gone but in use is for
 * a person to decide about: its machines have lost their disk's lower half.
 */
async function retireMarker(
  { host, naming }: Publication,
  seen: Extract<BaseState, { bytes: Buffer }>,
): Promise<boolean> {
  const client = await host.calls();
  if (seen.state === "damaged") {
    const { volume, size } = seen.marker;
    const referrers = (await findReferences(client, [volume])).get(volume) ?? [];
    if (referrers.length > 0) {
      throw new PermanentError({
        reason: "BaseDamaged",
        where: shownHost(host),
        message:
          `volume ${volume} of ${baseTitle(naming)} ` +
          (seen.physical === undefined ? "is gone" : `has ${seen.physical} bytes instead of ${size}`) +
          `, and it is in use by ${referrers.join(", ")}`,
        remedy: "Bring the volume back from a backup, or remove what uses it and run again.",
      });
    }
  }
  const marker = volumeNamed(host.pool, markerName(naming));
  const now = await readSmallVolume(client, marker, MAX_MARKER_BYTES);
  if (now === undefined) return true;
  if (!now.equals(seen.bytes)) return false;
  await deleteVolume(client, marker);
  return true;
}
