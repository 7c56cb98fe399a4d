import { randomBytes } from "node:crypto";
import { LibvirtError, type StoragePool, type StorageVol } from "../libvirt";
import { EgressError, TransientError } from "../machine/errors";
import { attemptName, type BaseNaming } from "./naming";
import type { LocalImage } from "./open";
import { processToken } from "./process-token";
import { hostFault, type PublishHost, poolFull, shownHost } from "./publish-host";
import { type UploadOptions, uploadIncomplete, uploadVerified } from "./upload";
import { createExclusively, deleteVolume, physicalSize, refreshPool, reportedFormat } from "./volumes";

export interface AttemptOptions extends UploadOptions {
  /** What a person should know though nothing failed. */
  report?: (note: string) => void;
}

const FORMAT_WAIT_MS = 30_000;

const ownAttempts = new Set<string>();

/** Whether this process is at work on an attempt at this moment. */
export function isOwnAttempt(volume: string): boolean {
  return ownAttempts.has(volume);
}

/**
 * Uploads an image into a volume of its own and hands it to `work` once the host
 * provably holds the same bytes. Until `work` ends nobody takes it for debris;
 * what to do with the volume is `work`'s decision. If the upload itself fails,
 * the volume is deleted.
 *
 * @throws PermanentError `PoolFull`; TransientError `UploadFailed`; what `uploadVerified` throws
 */
export async function withAttempt<T>(
  host: PublishHost,
  naming: BaseNaming,
  image: LocalImage,
  options: AttemptOptions,
  work: (volume: StorageVol, pool: StoragePool) => Promise<T>,
): Promise<T> {
  const client = await host.calls();
  const pool = await client.storagePoolLookupByName(host.pool);
  const name = attemptName(naming, processToken(), randomBytes(4).toString("hex"), image.format);
  ownAttempts.add(name);
  try {
    const volume = await createExclusively(host, client, pool, name, options.clock);
    if (volume === undefined) throw uploadIncomplete(host, `${name} is there already`);
    try {
      await uploadVerified(host, volume, image, options);
      await awaitFormat(host, pool, volume, image, options);
    } catch (error) {
      const fault = await explain(host, pool, volume, image, error, options);
      await discardAttempt(host, volume, options);
      throw fault;
    }
    return await work(volume, pool);
  } finally {
    ownAttempts.delete(name);
  }
}

/** Deletes an attempt that is not needed; what cannot be deleted now the next publisher collects. */
export async function discardAttempt(
  host: PublishHost,
  volume: StorageVol,
  { report }: Pick<AttemptOptions, "report">,
): Promise<void> {
  try {
    await deleteVolume(await host.calls(), volume);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report?.(`${shownHost(host)}: volume ${volume.name} is left behind for later (${why})`);
  }
}

/**
 * Fails where the pool has no room. The daemon's figure is as old as its last
 * refresh of the pool, so a refresh has the last word before anybody is turned away.
 *
 * @param present bytes of the image that are in the pool already
 */
export async function requireRoom(
  host: PublishHost,
  pool: StoragePool,
  image: LocalImage,
  options: Pick<AttemptOptions, "clock">,
  present = 0,
): Promise<void> {
  const client = await host.calls();
  const needed = BigInt(image.size - present);
  if ((await client.storagePoolGetInfo(pool)).available >= needed) return;
  await refreshPool(client, pool, options.clock);
  const { available } = await client.storagePoolGetInfo(pool);
  if (available < needed) throw poolFull(host, needed, available);
}

/**
 * After an upload the daemon looks at the whole pool anew, in its own time, and
 * only then knows the volume as qcow2. If it does not come to that, it is asked
 * to, once.
 */
async function awaitFormat(
  host: PublishHost,
  pool: StoragePool,
  volume: StorageVol,
  image: LocalImage,
  { clock }: AttemptOptions,
): Promise<void> {
  const client = await host.calls();
  const until = clock.now() + FORMAT_WAIT_MS;
  while ((await reportedFormat(client, volume)) !== image.format) {
    if (clock.now() >= until) {
      await refreshPool(client, pool, clock);
      const format = await reportedFormat(client, volume);
      if (format === image.format) return;
      throw uploadIncomplete(
        host,
        `is ${image.format}, and libvirt takes it for ${format ?? "nothing known"}`,
      );
    }
    await clock.sleep(200);
  }
}

/** What an upload's failure really was: libvirt tells of a full disk with several codes, or not at all. */
async function explain(
  host: PublishHost,
  pool: StoragePool,
  volume: StorageVol,
  image: LocalImage,
  error: unknown,
  options: AttemptOptions,
): Promise<unknown> {
  const short = error instanceof EgressError && error.reason === "UploadIncomplete";
  if (!short && !(error instanceof LibvirtError)) return error;
  try {
    const present = (await physicalSize(await host.calls(), volume)) ?? 0;
    await requireRoom(host, pool, image, options, present);
  } catch (second) {
    // Only a full pool explains the failure; if the host cannot be asked, the first error stands.
    if (second instanceof EgressError && second.reason === "PoolFull") return second;
  }
  if (!(error instanceof LibvirtError)) return error;
  const known = hostFault(host, error);
  if (known instanceof EgressError && known.reason !== "LibvirtFailed") return known;
  return new TransientError({
    reason: "UploadFailed",
    where: shownHost(host),
    message: error.message,
    remedy: "Run again; if it recurs, look at libvirtd's log on the host.",
    cause: error,
  });
}
