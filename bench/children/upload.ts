/** Uploads a file into a volume that is there already and empty. */
import { createReadStream } from "node:fs";
import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { measureChild } from "./child";

export interface UploadJob {
  host: KvmHost;
  file: string;
  volume: string;
}

const CHUNK = 256 * 1024;

void measureChild(async ({ host, file, volume }: UploadJob, session) => {
  const client = await session.bulk();
  const source = createReadStream(file, { highWaterMark: CHUNK });
  await client.storageVolUpload({ pool: host.pool, name: volume, key: "" }, source);
});
