import { createHash } from "node:crypto";
import type { ImageRef } from "@egress-proxies/providers/machine/spec";
import type { DirectImage } from "../config/kvm";

const DIGEST = /^[0-9a-f]{64}$/i;

/**
 * An image that a placement gives itself, without a key: the key follows from
 * what is written. It begins with the image's digest, so that a base on a host
 * tells what it is. And it changes with the location too: another location
 * under the same key would be refused, and here nobody could choose a new key.
 */
export function directImage({ url, sha256 }: DirectImage): ImageRef {
  const written = createHash("sha256").update(`${url}\n${sha256}`).digest("hex");
  const key = DIGEST.test(sha256)
    ? `sha256-${sha256.slice(0, 16).toLowerCase()}-${written.slice(0, 8)}`
    : `url-${written.slice(0, 16)}`;
  return { key, url, sha256 };
}
