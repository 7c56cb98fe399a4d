import { createReadStream } from "node:fs";
import { openImage } from "../images/open";
import { ErrorCode } from "../libvirt";
import type { EnsureBase } from "./ensure";
import { hasCode } from "./faults";
import { renderUploadTarget } from "./volume-xml";

export interface BaseOptions {
  cacheDir?: string;
}

const once = new Map<string, Promise<{ path: string; format: "qcow2" | "raw"; virtualSize: bigint }>>();

export function publishedBase(_options: BaseOptions = {}): EnsureBase {
  return (session, inputs) => {
    const key = `${session.host.name}/${inputs.image.key}`;
    let found = once.get(key);
    if (!found) {
      found = (async () => {
        const image = await openImage(inputs.image);
        const { pool, directory } = await session.pool();
        const name = `base-${inputs.image.key}.${image.format}`;
        const client = await session.bulk();
        try {
          const volume = await client.storageVolCreateXML(pool, renderUploadTarget(name));
          await client.storageVolUpload(volume, createReadStream(image.path));
        } catch (error) {
          if (!hasCode(error, ErrorCode.STORAGE_VOL_EXIST)) throw error;
        }
        return { path: `${directory}/${name}`, format: image.format, virtualSize: BigInt(image.virtualSize) };
      })();
      once.set(key, found);
    }
    return found;
  };
}
