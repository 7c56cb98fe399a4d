/** Publishes an image as a host's base, the way the first machine of a run does. */
import { ensureBase } from "@egress-proxies/providers/images/publish";
import type { ImageRef, KvmHost } from "@egress-proxies/providers/machine/spec";
import { measureChild } from "./child";

export interface PublishJob {
  host: KvmHost;
  image: ImageRef;
  /** Where images are kept on this side. */
  cacheDir: string;
}

void measureChild(async ({ host, image, cacheDir }: PublishJob, session) => {
  const place = {
    name: host.name,
    pool: host.pool,
    calls: () => session.calls(),
    bulk: () => session.bulk(),
  };
  await ensureBase(place, { key: image.key }, image, { cacheDir });
});
