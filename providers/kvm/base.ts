import { clearDebris } from "../images/debris";
import type { BaseNaming } from "../images/naming";
import type { PublishedBase } from "../images/observe";
import { ensureBase } from "../images/publish";
import { systemClock } from "../machine/retry";
import type { KvmMachineInputs } from "../machine/spec";
import type { RunContext } from "../pulumi/backend";
import type { EnsureBase } from "./ensure";
import type { BaseOf } from "./naming";
import type { HostSession } from "./session";

export interface BaseOptions {
  /** Where images are kept on this machine. Default: see providers/images/cache. */
  cacheDir?: string;
}

/** Upload percentages are shown in steps of this size. */
const STEP = 10;

/**
 * The base image of a machine, published on its host. One look per host and image serves all machines of a
 * session; the look is not remembered where it failed.
 */
export function publishedBase(baseOf: BaseOf, options: BaseOptions = {}): EnsureBase {
  const looks = new WeakMap<HostSession, Map<string, Promise<PublishedBase>>>();
  return async (session, inputs, run) => {
    const known = looks.get(session) ?? new Map<string, Promise<PublishedBase>>();
    looks.set(session, known);
    const naming = baseOf(inputs);
    const key = JSON.stringify([naming, inputs.image, inputs.diskGiB]);
    let look = known.get(key);
    if (look === undefined) {
      look = publish(session, naming, inputs, run, options);
      known.set(key, look);
      look.catch(() => known.delete(key));
    }
    return look;
  };
}

async function publish(
  session: HostSession,
  naming: BaseNaming,
  { image, diskGiB }: KvmMachineInputs,
  run: RunContext,
  options: BaseOptions,
): Promise<PublishedBase> {
  const { name, pool } = session.host;
  const host = { name, pool, calls: () => session.calls(), bulk: () => session.bulk() };
  let shown = -1;
  const base = await ensureBase(host, naming, image, {
    ...options,
    maxVirtualSize: diskGiB * 1024 ** 3,
    signal: run.signal,
    report: run.warn,
    onProgress: ({ phase, bytes, total }) => {
      const percent = total === undefined ? 0 : Math.floor((bytes / total) * (100 / STEP)) * STEP;
      if (percent === shown) return;
      shown = percent;
      run.progress(`image "${image.key}" for host ${name}: ${phase} ${percent} %`);
    },
  });
  // A rival that died after we looked, or before a base that we only adopt, left an attempt that no later
  // publisher would come upon. Nothing is watched for it: only what is known to be dead goes.
  await clearDebris(host, naming, { clock: systemClock, signal: AbortSignal.abort(), report: run.warn });
  return base;
}
