import type { Readable } from "node:stream";
import { type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { EgressError, PermanentError, TransientError } from "../machine/errors";
import { withoutCredentials } from "./location";

/** How long a server may be silent, in milliseconds. */
export interface HttpLimits {
  connectMs: number;
  headersMs: number;
  /** Between two pieces of a body. */
  idleMs: number;
  /** A body that brings less than this in `slowWindowMs` is given up. */
  minBytesPerWindow: number;
  slowWindowMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectMs: 15_000,
  headersMs: 30_000,
  idleMs: 30_000,
  minBytesPerWindow: 64 * 1024,
  slowWindowMs: 60_000,
};

const MAX_REDIRECTS = 10;

/**
 * undici 7 crashes the process ("assert(!this.paused)", nodejs/undici#5360) when
 * a server hangs up while its parser is paused by back-pressure. So it is never
 * paused: bodies are taken as they come (`consume`), and until then this much fits.
 */
const BODY_BUFFER_BYTES = 8 * 1024 * 1024;

export interface HttpResponse {
  status: number;
  headers: Record<string, string | undefined>;
  body: Readable;
}

/** A client that honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY as they are when it is made; close it after use. */
export function httpAgent(limits: HttpLimits): Dispatcher {
  return new EnvHttpProxyAgent({
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.idleMs,
  });
}

/**
 * One GET, redirects followed: at most ten, never from https to http. User name
 * and password of the URL go as Basic authentication to its own origin only.
 *
 * The body must be consumed or destroyed at once, without waiting for anything else.
 *
 * @throws TransientError, PermanentError; both name the URL
 */
export async function httpGet(
  agent: Dispatcher,
  url: URL,
  headers: Record<string, string>,
): Promise<HttpResponse> {
  let current = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await send(agent, current, {
      ...headers,
      ...(current.origin === url.origin ? authorization(url) : {}),
    });
    const location = response.headers.location;
    if (![301, 302, 303, 307, 308].includes(response.status)) return response;
    response.body.destroy();
    current = redirectTarget(current, location);
  }
  throw new PermanentError({
    reason: "TooManyRedirects",
    where: shown(url),
    message: `the server redirects more than ${MAX_REDIRECTS} times`,
    remedy: "Use the URL at which the file really is.",
  });
}

async function send(agent: Dispatcher, url: URL, headers: Record<string, string>): Promise<HttpResponse> {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  try {
    const {
      statusCode,
      headers: received,
      body,
    } = await request(bare, {
      dispatcher: agent,
      highWaterMark: BODY_BUFFER_BYTES,
      headers: { "accept-encoding": "identity", "user-agent": "egress-proxies", ...headers },
    });
    // A body that is destroyed unread must not become an unhandled error.
    body.on("error", () => undefined);
    return { status: statusCode, headers: singleValues(received), body };
  } catch (error) {
    throw networkFault(error, url);
  }
}

/**
 * Hands over a body piece by piece, as fast as it comes: `take` must be done with
 * a piece when it returns. What it throws ends the transfer.
 */
export function consume(body: Readable, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    body.on("data", (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        reject(error);
        body.destroy();
      }
    });
    body.once("end", resolve);
    body.once("error", reject);
    body.once("close", () => reject(new Error("closed before its end")));
  });
}

function redirectTarget(from: URL, location: string | undefined): URL {
  if (location === undefined || !URL.canParse(location, from.href)) {
    throw new PermanentError({
      reason: "BadRedirect",
      where: shown(from),
      message: "the server redirects to no valid place",
    });
  }
  const target = new URL(location, from);
  const downgrade = from.protocol === "https:" && target.protocol !== "https:";
  if (downgrade || !["http:", "https:"].includes(target.protocol)) {
    throw new PermanentError({
      reason: "InsecureRedirect",
      where: shown(from),
      message: `the server redirects to ${shown(target)}, away from ${from.protocol.slice(0, -1)}`,
      remedy: "Use the URL at which the file really is.",
    });
  }
  return target;
}

function authorization({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** The fault for a status other than those asked for. */
export function statusFault(status: number, url: URL): EgressError {
  const fault = {
    reason: "ImageUnavailable",
    where: shown(url),
    message: `the server answered with HTTP status ${status}`,
  };
  const passing = [408, 425, 429].includes(status) || (status >= 500 && status !== 501 && status !== 505);
  if (passing) return new TransientError({ ...fault, remedy: "Try again later." });
  return new PermanentError({ ...fault, remedy: "Check the URL and who may read it." });
}

/** Certificates do not heal within a run; anything else on the network may. */
const CERTIFICATE_FAULTS = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

export function networkFault(error: unknown, url: URL): EgressError {
  if (error instanceof EgressError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? "unknown";
  const cause = { where: shown(url), cause: error };
  if (CERTIFICATE_FAULTS.has(code)) {
    return new PermanentError({
      ...cause,
      reason: "CertificateRefused",
      message: `the server's certificate is not accepted (${code})`,
      remedy: "Correct it, or add its authority through NODE_EXTRA_CA_CERTS.",
    });
  }
  return new TransientError({
    ...cause,
    reason: "DownloadInterrupted",
    message: `the transfer failed (${code}: ${(error as Error).message})`,
    remedy: "Check the network, and HTTPS_PROXY and NO_PROXY where a proxy is needed.",
  });
}

function shown(url: URL): string {
  return withoutCredentials(url.href);
}

function singleValues(headers: Record<string, string | string[] | undefined>): HttpResponse["headers"] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}
