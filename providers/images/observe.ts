import type { StorageVol } from "../libvirt";
import type { Clock } from "../machine/retry";
import { MAX_MARKER_BYTES, type Marker, parseMarker } from "./marker";
import { type BaseNaming, markerName } from "./naming";
import type { PublishHost } from "./publish-host";
import type { ImageFormat } from "./sniff";
import { physicalSize, readSmallVolume, volumeNamed } from "./volumes";

/** A base image on a host, whole and verified: what overlays are made on. */
export interface PublishedBase {
  volume: StorageVol;
  /** On the host. */
  path: string;
  format: ImageFormat;
  /** Bytes: an overlay must be at least so large. */
  virtualSize: number;
  /** Of the published bytes. */
  sha256: string;
}

export type BaseState =
  | { state: "absent" }
  /** The marker is there without its content: being written, or left by a publisher that died. */
  | { state: "unfinished"; bytes: Buffer }
  /** The marker is whole, and its data volume is missing or of another size. */
  | { state: "damaged"; bytes: Buffer; marker: Marker; physical: number | undefined }
  | { state: "published"; bytes: Buffer; marker: Marker; base: PublishedBase };

/** Looks with two calls: the marker's content, and the data volume's size. */
export async function observeBase(host: PublishHost, naming: BaseNaming): Promise<BaseState> {
  const client = await host.calls();
  const bytes = await readSmallVolume(client, volumeNamed(host.pool, markerName(naming)), MAX_MARKER_BYTES);
  if (bytes === undefined) return { state: "absent" };
  const marker = parseMarker(bytes);
  if (marker === undefined) return { state: "unfinished", bytes };
  const physical = await physicalSize(client, volumeNamed(host.pool, marker.volume));
  if (physical !== marker.size) return { state: "damaged", bytes, marker, physical };
  const { path, format, virtualSize, sha256 } = marker;
  const volume = { pool: host.pool, name: marker.volume, key: path };
  return { state: "published", bytes, marker, base: { volume, path, format, virtualSize, sha256 } };
}

/** Looks again while what stands there may be another publisher's work of this moment, for `waitMs` at most. */
export async function observeSettled(
  host: PublishHost,
  naming: BaseNaming,
  waitMs: number,
  clock: Clock,
): Promise<BaseState> {
  const until = clock.now() + waitMs;
  for (;;) {
    const seen = await observeBase(host, naming);
    if (seen.state === "absent" || seen.state === "published" || clock.now() >= until) return seen;
    await clock.sleep(500);
  }
}
