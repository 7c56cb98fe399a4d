import { readFile, stat } from "node:fs/promises";
import { PermanentError } from "../machine/errors";
import { retryTransient, systemClock } from "../machine/retry";
import type { ImageRef } from "../machine/spec";
import { type Digest, findChecksum, looksLikeDigest, parseDigest } from "./digest";
import { consume, DEFAULT_HTTP_LIMITS, httpAgent, httpGet, networkFault, statusFault } from "./http";
import { fileNameOf, parseLocation, withoutCredentials } from "./location";
import type { OpenImageOptions } from "./open";

/** A checksum file of a whole release is some hundred kilobytes. */
const MAX_CHECKSUM_FILE_BYTES = 4 * 1024 * 1024;

/**
 * The digest that an image must have: the one given, or the one that the given
 * checksum file lists for the image's file name.
 *
 * @throws PermanentError `InvalidDigest`, `ChecksumMissing`, `ChecksumAmbiguous`, `ChecksumFileUnusable`
 */
export async function resolveDigest(
  ref: ImageRef,
  options: Pick<OpenImageOptions, "root" | "transfer">,
): Promise<Digest> {
  const given = parseDigest(ref.sha256);
  if (given !== undefined) return given;
  if (looksLikeDigest(ref.sha256) || ref.sha256.trim() === "") {
    throw new PermanentError({
      reason: "InvalidDigest",
      where: withoutCredentials(ref.url),
      message: `"${ref.sha256}" is no SHA-256 (64 hex digits) and no SHA-512 (128)`,
      remedy: "Give the image's digest, or the URL or path of its checksum file.",
    });
  }
  const root = options.root ?? process.cwd();
  const location = parseLocation(ref.sha256, root);
  const text =
    location.kind === "file"
      ? await readChecksumFile(location.path)
      : await retryTransient(() => fetchText(location.url, options.transfer?.limits), {
          attempts: options.transfer?.attempts ?? 5,
          delayMs: options.transfer?.delayMs ?? 1000,
          clock: options.transfer?.clock ?? systemClock,
        });
  return findChecksum(text, fileNameOf(parseLocation(ref.url, root)), withoutCredentials(ref.sha256));
}

async function readChecksumFile(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > MAX_CHECKSUM_FILE_BYTES) throw tooLong(path);
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof PermanentError) throw error;
    throw unusable(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

async function fetchText(url: URL, limits = DEFAULT_HTTP_LIMITS): Promise<string> {
  const agent = httpAgent(limits);
  try {
    const { status, body } = await httpGet(agent, url, {});
    if (status !== 200) {
      body.destroy();
      throw statusFault(status, url);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    await consume(body, (chunk) => {
      size += chunk.length;
      if (size > MAX_CHECKSUM_FILE_BYTES) throw tooLong(withoutCredentials(url.href));
      chunks.push(chunk);
    });
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    throw networkFault(error, url);
  } finally {
    await agent.destroy();
  }
}

function tooLong(where: string): PermanentError {
  return unusable(where, `is longer than ${MAX_CHECKSUM_FILE_BYTES} bytes`);
}

function unusable(where: string, problem: string): PermanentError {
  return new PermanentError({
    reason: "ChecksumFileUnusable",
    where,
    message: `the checksum file ${problem}`,
    remedy: "Name a checksum file, or give the image's digest itself.",
  });
}
