import type { StorageVol } from "../libvirt";
import type { Clock } from "../machine/retry";
import { isOwnAttempt } from "./attempt";
import { attemptToken, type BaseNaming } from "./naming";
import { observeBase } from "./observe";
import { type Liveness, processLiveness, processToken } from "./process-token";
import { type PublishHost, shownHost } from "./publish-host";
import { findReferences } from "./references";
import { deleteVolume, physicalSize } from "./volumes";

export interface DebrisOptions {
  clock: Clock;
  /** An attempt of another machine's process is dead if it did not grow for so long. Default 60 000. */
  deadAfterMs?: number;
  /** Ends the watch over other machines' attempts: what is not known to be dead by then counts as alive. */
  signal?: AbortSignal;
  report?: (note: string) => void;
}

const DEAD_AFTER_MS = 60_000;

/** An attempt's volume that no valid marker names. */
export interface UnpublishedAttempt {
  volume: StorageVol;
  /** Of the process that made it. */
  liveness: Liveness;
}

export interface DebrisReport {
  removed: string[];
  /** Left alone, with the reason: `alive`, or who refers to it. */
  kept: { name: string; because: string }[];
}

/** The attempts at this base that did not become it, whether under way or left behind. */
export async function listUnpublished(host: PublishHost, naming: BaseNaming): Promise<UnpublishedAttempt[]> {
  const client = await host.calls();
  const pool = await client.storagePoolLookupByName(host.pool);
  const volumes = await client.storagePoolListAllVolumes(pool);
  const attempts = volumes.flatMap((volume) => {
    const token = attemptToken(naming, volume.name);
    return token === undefined ? [] : [{ volume, liveness: livenessOf(volume.name, token) }];
  });
  // The marker last: an attempt that is published between the two looks is then seen as published.
  const seen = attempts.length === 0 ? undefined : await observeBase(host, naming);
  const published = seen !== undefined && "marker" in seen ? seen.marker.volume : undefined;
  return attempts.filter(({ volume }) => volume.name !== published);
}

/**
 * Deletes what dead attempts at this base left behind. A process of this machine
 * is known to be gone; of any other, an attempt that stands still for
 * `deadAfterMs` is dead, measured here alone, so no clocks need to agree.
 * Never deletes what a marker names or what a volume or domain refers to.
 */
export async function collectDebris(
  host: PublishHost,
  naming: BaseNaming,
  options: DebrisOptions,
): Promise<DebrisReport> {
  const report: DebrisReport = { removed: [], kept: [] };
  const attempts = await listUnpublished(host, naming);
  const judged = await Promise.all(
    attempts.map(async ({ volume, liveness }) => {
      const dead =
        liveness === "dead" || (liveness === "elsewhere" && (await standsStill(host, volume, options)));
      if (!dead) report.kept.push({ name: volume.name, because: "alive" });
      return { volume, dead };
    }),
  );
  const dead = judged.filter((attempt) => attempt.dead).map(({ volume }) => volume);
  if (dead.length === 0) return report;
  const client = await host.calls();
  const references = await findReferences(
    client,
    dead.map(({ name }) => name),
  );
  const unpublished = new Set((await listUnpublished(host, naming)).map(({ volume }) => volume.name));
  for (const volume of dead.filter(({ name }) => unpublished.has(name))) {
    const referrers = references.get(volume.name) ?? [];
    if (referrers.length > 0) {
      report.kept.push({ name: volume.name, because: `in use by ${referrers.join(", ")}` });
      continue;
    }
    await deleteVolume(client, volume);
    report.removed.push(volume.name);
  }
  return report;
}

/** Collects what dead publishers left, and says so. That it fails is no reason to fail for what it was called by. */
export async function clearDebris(
  host: PublishHost,
  naming: BaseNaming,
  options: DebrisOptions,
): Promise<void> {
  const { report } = options;
  try {
    const { removed } = await collectDebris(host, naming, options);
    for (const name of removed) report?.(`${shownHost(host)}: removed the unfinished volume ${name}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report?.(`${shownHost(host)}: unfinished volumes were not looked for (${why})`);
  }
}

function livenessOf(name: string, token: string): Liveness {
  if (token === processToken()) return isOwnAttempt(name) ? "alive" : "dead";
  return processLiveness(token);
}

async function standsStill(
  host: PublishHost,
  volume: StorageVol,
  { clock, deadAfterMs = DEAD_AFTER_MS, signal, report }: DebrisOptions,
): Promise<boolean> {
  if (signal?.aborted) return false;
  const until = clock.now() + deadAfterMs;
  report?.(
    `${shownHost(host)}: watching for ${deadAfterMs} ms whether the unfinished volume ${volume.name} still grows`,
  );
  const first = await physicalSize(await host.calls(), volume);
  while (clock.now() < until) {
    await clock.sleep(Math.min(2000, deadAfterMs));
    if (signal?.aborted) return false;
    if ((await physicalSize(await host.calls(), volume)) !== first) return false;
  }
  return true;
}
