import { deflateRawSync, inflateRawSync } from "node:zlib";

/** What no user-data begins with that has a meaning to cloud-init. */
const MARK = "deflate:";

/**
 * A text as it stands in a machine's state. State is read and written whole at every step of a run, and
 * a secret grows there by a third: cloud-init documents shrink to less than half of that.
 */
export function packText(text: string): string {
  return MARK + deflateRawSync(Buffer.from(text), { level: 9 }).toString("base64");
}

/** What was packed; a text that was not is returned as it is. */
export function unpackText(packed: string): string {
  if (!packed.startsWith(MARK)) return packed;
  return inflateRawSync(Buffer.from(packed.slice(MARK.length), "base64")).toString();
}
