import type { Clock } from "../machine/retry";
import type { ImageRef } from "../machine/spec";
import type { BaseNaming } from "./naming";
import type { OpenImageOptions } from "./open";
import type { PublishHost } from "./publish-host";

export interface PublicationTiming {
  clock?: Clock;
  /** How long a marker without its content, or without its data, may be another publisher's work. Default 10 000. */
  markerWaitMs?: number;
  /** How long a marker that replaced another one is left alone before it is trusted. Default 2000. */
  settleMs?: number;
  /** An attempt of another machine's process is dead if it did not grow for so long. Default 60 000. */
  deadAfterMs?: number;
}

/** One base to be on one host. */
export interface Publication {
  host: PublishHost;
  naming: BaseNaming;
  ref: ImageRef;
  options: OpenImageOptions &
    PublicationTiming & { clock: Clock; signal?: AbortSignal; report?: (note: string) => void };
}
