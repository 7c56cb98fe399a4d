import { type EgressError, PermanentError, TransientError } from "../machine/errors";
import { type Clock, systemClock } from "../machine/retry";
import { type Digest, formatDigest } from "./digest";
import {
  consume,
  DEFAULT_HTTP_LIMITS,
  type HttpLimits,
  type HttpResponse,
  httpAgent,
  httpGet,
  networkFault,
  statusFault,
} from "./http";
import { withoutCredentials } from "./location";
import type { PartFile } from "./part-file";
import { htmlInstead, looksLikeHtml } from "./sniff";

export interface DownloadOptions {
  /** A longer file is refused, in bytes. */
  maxBytes: number;
  /** Failures in a row without 256 KiB of progress before it gives up. Default 5. */
  attempts?: number;
  /** The first pause between attempts; each further one doubles, up to 30 s. Default 1000. */
  delayMs?: number;
  limits?: HttpLimits;
  clock?: Clock;
  onProgress?: (bytes: number, total: number | undefined) => void;
}

/** What the server said about the file, to tell whether a later answer is about the same one. */
interface Version {
  etag?: string;
  lastModified?: string;
  total?: number;
}

const PROGRESS_BYTES = 256 * 1024;

/**
 * Fills `part` with the file at `url` until its digest is `expected`, from where
 * it stands. Whatever the server does in between, success means the right bytes:
 * ranges (RFC 9110, section 14) only save time, the digest decides.
 *
 * @throws PermanentError, or the last TransientError once attempts are used up
 */
export async function download(
  url: URL,
  expected: Digest,
  part: PartFile,
  options: DownloadOptions,
): Promise<void> {
  const agent = httpAgent(options.limits ?? DEFAULT_HTTP_LIMITS);
  const transfer = new Transfer(url, expected, part, options, (headers) => httpGet(agent, url, headers));
  try {
    await untilComplete(transfer, part, options);
  } finally {
    await agent.destroy();
  }
}

async function untilComplete(transfer: Transfer, part: PartFile, options: DownloadOptions): Promise<void> {
  const clock = options.clock ?? systemClock;
  const attempts = options.attempts ?? 5;
  let mark = part.size;
  for (let failures = 0; ; ) {
    try {
      return await transfer.attempt();
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      failures++;
      if (part.size >= mark + PROGRESS_BYTES) {
        failures = 1;
        mark = part.size;
      }
      if (failures >= attempts) {
        error.exhausted = true;
        throw error;
      }
      if (error instanceof StartOverError) part.reset();
      await clock.sleep(Math.min((options.delayMs ?? 1000) * 2 ** (failures - 1), 30_000));
    }
  }
}

/** What stands in the part file cannot be continued. */
class StartOverError extends TransientError {}

class Transfer {
  private version: Version = {};
  /** False while any byte in the part file is from an earlier answer than the current one. */
  private inOnePiece = false;

  constructor(
    private readonly url: URL,
    private readonly expected: Digest,
    private readonly part: PartFile,
    private readonly options: DownloadOptions,
    private readonly get: (headers: Record<string, string>) => Promise<HttpResponse>,
  ) {}

  async attempt(): Promise<void> {
    if (this.part.size > 0 && this.part.matches(this.expected)) return;
    const response = await this.get(this.rangeHeaders());
    try {
      const length = this.accept(response);
      await this.receive(response);
      this.verify(length);
    } catch (error) {
      // A Content-Length beyond the true end looks like a cut, yet nothing is missing.
      if (error instanceof TransientError && this.part.matches(this.expected)) return;
      throw error;
    } finally {
      response.body.destroy();
    }
  }

  /** If-Range takes a strong validator only; without one the digest must do. */
  private rangeHeaders(): Record<string, string> {
    if (this.part.size === 0) return {};
    const { etag, lastModified } = this.version;
    const validator = etag !== undefined && !etag.startsWith("W/") ? etag : lastModified;
    return {
      range: `bytes=${this.part.size}-`,
      ...(validator === undefined ? {} : { "if-range": validator }),
    };
  }

  /** Judges the answer's head, and readies the part file for its body. Returns whether its length is known. */
  private accept({ status, headers }: HttpResponse): "known" | "unknown" {
    const offset = this.part.size;
    if (offset === 0) this.version = {};
    if (status === 416) throw this.startOver("has no bytes beyond those already here");
    if (status !== 200 && status !== 206) throw statusFault(status, this.url);
    const range = status === 206 ? parseContentRange(headers["content-range"]) : undefined;
    const version = versionOf(headers, range?.total ?? bodyLength(headers));
    if (status === 206) {
      if (range === undefined || range.start !== offset)
        throw this.startOver("sent another range than asked for");
      if (!sameVersion(this.version, version)) throw this.startOver("changed the file during the download");
    }
    if (version.total !== undefined && version.total > this.options.maxBytes) throw this.tooLarge();
    if (status === 200) this.part.reset();
    this.inOnePiece = this.part.size === 0;
    this.version = version;
    return version.total === undefined && headers["transfer-encoding"] === undefined ? "unknown" : "known";
  }

  private async receive({ body }: HttpResponse): Promise<void> {
    const clock = this.options.clock ?? systemClock;
    const limits = this.options.limits ?? DEFAULT_HTTP_LIMITS;
    let window = { since: clock.now(), bytes: 0 };
    try {
      await consume(body, (chunk) => {
        if (this.part.size === 0 && looksLikeHtml(chunk)) throw htmlInstead(this.where);
        if (this.part.size + chunk.length > this.options.maxBytes) throw this.tooLarge();
        this.part.append(chunk);
        this.options.onProgress?.(this.part.size, this.version.total);
        window.bytes += chunk.length;
        if (clock.now() - window.since < limits.slowWindowMs) return;
        if (window.bytes < limits.minBytesPerWindow) throw this.interrupted("became too slow");
        window = { since: clock.now(), bytes: 0 };
      });
    } catch (error) {
      throw networkFault(error, this.url);
    }
  }

  private verify(length: "known" | "unknown"): void {
    if (this.part.matches(this.expected)) return;
    const { total } = this.version;
    if (total !== undefined && this.part.size < total) throw this.interrupted("ended the transfer early");
    if (!this.inOnePiece || length === "unknown") throw this.startOver("sent bytes with another digest");
    throw new PermanentError({
      reason: "ChecksumMismatch",
      where: this.where,
      message: `the file has ${this.expected.algorithm} ${this.part.digests()[this.expected.algorithm]} instead of ${formatDigest(this.expected)}`,
      remedy: "Check which file the digest belongs to; a `latest` URL changes with every release.",
    });
  }

  private get where(): string {
    return withoutCredentials(this.url.href);
  }

  private startOver(what: string): StartOverError {
    return new StartOverError({
      reason: "DownloadRestarted",
      where: this.where,
      message: `the server ${what}`,
    });
  }

  private interrupted(what: string): TransientError {
    return new TransientError({
      reason: "DownloadInterrupted",
      where: this.where,
      message: `the server ${what}`,
    });
  }

  private tooLarge(): EgressError {
    return new PermanentError({
      reason: "DownloadTooLarge",
      where: this.where,
      message: `the file is larger than the image cache's limit of ${this.options.maxBytes} bytes`,
      remedy: "Raise the cache's limit, or check the URL.",
    });
  }
}

function versionOf(headers: HttpResponse["headers"], total: number | undefined): Version {
  const { etag, "last-modified": lastModified } = headers;
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
    ...(total === undefined ? {} : { total }),
  };
}

/** True unless both sides name a property and disagree. */
function sameVersion(before: Version, now: Version): boolean {
  return (["etag", "lastModified", "total"] as const).every(
    (name) => before[name] === undefined || now[name] === undefined || before[name] === now[name],
  );
}

/** RFC 9110, section 14.4; undefined for anything but one satisfied byte range. */
export function parseContentRange(value: string | undefined): { start: number; total?: number } | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(value ?? "");
  if (match === null || Number(match[2]) < Number(match[1])) return undefined;
  const total = match[3] === "*" ? {} : { total: Number(match[3]) };
  return { start: Number(match[1]), ...total };
}

function bodyLength(headers: HttpResponse["headers"]): number | undefined {
  const length = headers["content-length"];
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined;
}
