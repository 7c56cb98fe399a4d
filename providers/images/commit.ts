import type { StoragePool, StorageVol } from "../libvirt";
import { discardAttempt } from "./attempt";
import { withoutCredentials } from "./location";
import { type Marker, renderMarker } from "./marker";
import { markerName } from "./naming";
import { observeBase, observeSettled, type PublishedBase } from "./observe";
import type { LocalImage } from "./open";
import { processToken } from "./process-token";
import type { Publication } from "./publication";
import { shownHost } from "./publish-host";
import { createExclusively } from "./volumes";

/** A verified attempt, about to become the base. */
export interface Candidate {
  pool: StoragePool;
  volume: StorageVol;
  image: LocalImage;
  /** A marker stood here before that this publisher took away, as others may be about to do as well. */
  contested: boolean;
}

/**
 * Makes an attempt the base by creating the marker, which only one publisher can.
 * Undefined where another was first; the attempt is then deleted, as after any
 * error that leaves it without a marker.
 */
export async function commitBase(job: Publication, candidate: Candidate): Promise<PublishedBase | undefined> {
  const { host, naming, options } = job;
  try {
    options.signal?.throwIfAborted();
    if (!(await writeMarker(job, candidate))) {
      await discardAttempt(host, candidate.volume, options);
      return undefined;
    }
    // Two publishers can take the same dead marker away, the slower one together
    // with the quicker one's new marker. Only in that case time must tell.
    if (candidate.contested) await options.clock.sleep(options.settleMs ?? 2000);
    const seen = await observeSettled(host, naming, options.markerWaitMs ?? 10_000, options.clock);
    if (seen.state === "published" && seen.marker.volume === candidate.volume.name) return seen.base;
  } catch (error) {
    await discardUnlessPublished(job, candidate.volume);
    throw error;
  }
  await discardUnlessPublished(job, candidate.volume);
  return undefined;
}

/** Creates the marker and fills it; false where it exists. */
async function writeMarker(job: Publication, { pool, volume, image }: Candidate): Promise<boolean> {
  const { host, naming, ref, options } = job;
  const marker: Marker = {
    version: 1,
    key: naming.key,
    ...(naming.entry === undefined ? {} : { entry: naming.entry }),
    volume: volume.name,
    path: volume.key,
    sha256: image.sha256,
    size: image.size,
    format: image.format,
    virtualSize: image.virtualSize,
    source: { url: withoutCredentials(ref.url), sha256: image.source.sha256, sha512: image.source.sha512 },
    publisher: processToken(),
    published: new Date(options.clock.now()).toISOString(),
  };
  const client = await host.calls();
  const created = await createExclusively(host, client, pool, markerName(naming), options.clock);
  if (created === undefined) return false;
  await client.storageVolUpload(created, once(renderMarker(marker)));
  return true;
}

/** A marker that was written though its confirmation got lost makes the attempt the base all the same. */
async function discardUnlessPublished(
  { host, naming, options }: Publication,
  volume: StorageVol,
): Promise<void> {
  try {
    const seen = await observeBase(host, naming);
    if ("marker" in seen && seen.marker.volume === volume.name) return;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    options.report?.(`${shownHost(host)}: volume ${volume.name} is left for later (${why})`);
    return;
  }
  await discardAttempt(host, volume, options);
}

async function* once(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}
