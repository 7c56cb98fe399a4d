import type { Socket } from "node:net";
import { outsiders } from "./addresses";
import { assertExpected, assertPassedOn, isRefusal } from "./answer";
import { dial } from "./dial";
import { type Answer, ClosedEarly, exchange, secure } from "./exchange";
import { type ProbeEnvironment, type ProbeRequest, StageFailure } from "./report";

/** How long a connection from an outsider's address may take at most, in milliseconds: it often has no way there. */
const OUTSIDER_CONNECT_MS = 1000;
/** Outsiders' addresses that are tried at most: a container host has hundreds. */
const MAX_OUTSIDERS = 3;
const PRIVATE_DESTINATION = "127.0.0.1:443";

export interface StageContext {
  request: ProbeRequest;
  env: ProbeEnvironment;
  /** Fires at the probe's deadline. */
  signal: AbortSignal;
  /** The address by which we reach the proxy; known after the first stage. */
  ourAddress: string;
}

/** Why a stage could not be tried, and what a person should know nevertheless. */
export interface Skipped {
  skipped: string;
  warning?: string;
}

/**
 * A request from outside `allowedClients` has to be refused: by 403, by 407, or
 * by closing the connection. Skipped where no such address can reach the proxy.
 *
 * @throws StageFailure OpenProxy, ResponseTimeout, ProtocolError
 */
export async function refusesOutsiders(context: StageContext): Promise<Skipped | undefined> {
  const { request, env, ourAddress } = context;
  if (request.allowedClients.length === 0)
    return { skipped: "allowedClients is empty: who is a stranger is unknown" };
  let warning: string | undefined;
  for (const outsider of outsiders(env.localAddresses(), ourAddress, request.allowedClients).slice(
    0,
    MAX_OUTSIDERS,
  )) {
    const answer = await askAsOutsider(context, outsider.address);
    if (answer === "unreachable") continue;
    if (answer === "refused") return undefined;
    const seen = `answers ${answer.status} to ${outsider.address}, which is not in allowedClients`;
    if (outsider.conclusive) throw new StageFailure("OpenProxy", seen);
    warning = `${seen}; unless that address is translated on its way to the proxy, the proxy is open to strangers`;
  }
  const skipped = "no address of this machine can play the stranger";
  return warning === undefined ? { skipped } : { skipped, warning };
}

async function askAsOutsider(
  { request, signal }: StageContext,
  localAddress: string,
): Promise<Answer | "refused" | "unreachable"> {
  const { host, port, timeoutSeconds } = request;
  // All of them together leave three quarters of the time for the request that counts.
  const share = Math.round((timeoutSeconds * 1000) / 4 / MAX_OUTSIDERS);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(Math.min(OUTSIDER_CONNECT_MS, share))]);
  let socket: Socket;
  try {
    socket = await dial({ host, port, localAddress }, patience);
  } catch (error) {
    if (!(error instanceof StageFailure) || signal.aborted) throw error;
    // We were let in on the same port a moment ago: a firewall tells the stranger no.
    return error.reason === "ConnectRefused" ? "refused" : "unreachable";
  }
  const answer = await closing(socket, () => refusedOr(() => ask(socket, request, signal)));
  return answer === undefined || isRefusal(answer) ? "refused" : answer;
}

/**
 * A proxy that opens its own loopback to its clients opens the whole network it stands in.
 *
 * @throws StageFailure PrivateDestinationAllowed, ConnectRefused, ConnectTimeout, ResponseTimeout
 */
export async function refusesPrivateDestination({ request, signal }: StageContext): Promise<undefined> {
  const socket = await dial(request, signal);
  const answer = await closing(socket, () =>
    refusedOr(() => exchange(socket, "CONNECT", PRIVATE_DESTINATION, PRIVATE_DESTINATION, signal)),
  );
  // 405 and 501: it does not know CONNECT at all; 400: it is no proxy, as the next stage will find.
  if (answer === undefined || isRefusal(answer) || [400, 405, 501].includes(answer.status)) return undefined;
  throw new StageFailure(
    "PrivateDestinationAllowed",
    `answers ${answer.status} instead of 403 to a request for ${PRIVATE_DESTINATION}`,
  );
}

/**
 * The request that counts: through the proxy to the target, over verified TLS for `https:`.
 *
 * @throws StageFailure any reason but OpenProxy and PrivateDestinationAllowed
 */
export async function reachesTarget(context: StageContext): Promise<undefined> {
  const { request, env, signal, ourAddress } = context;
  const url = new URL(request.target.url);
  const origin = { address: ourAddress, allowedClients: request.allowedClients };
  const socket = await dial(request, signal);
  await closing(socket, async () => {
    const answer = await ask(socket, request, signal);
    assertPassedOn(answer, url.protocol === "https:" ? "CONNECT" : "GET", origin);
    if (url.protocol === "http:") return assertExpected(answer, request.target);
    const secured = await secure(socket, hostOf(url), env.ca, signal);
    const inner = await closing(secured, () =>
      exchange(secured, "GET", url.pathname + url.search, url.host, signal),
    );
    assertExpected(inner, request.target);
  });
  return undefined;
}

/** The first request for the target: the whole of it for `http:`, the tunnel for `https:`. */
function ask(socket: Socket, { target }: ProbeRequest, signal: AbortSignal): Promise<Answer> {
  const url = new URL(target.url);
  if (url.protocol === "http:") {
    // The absolute form (RFC 9112, section 3.2.2), without a fragment.
    return exchange(socket, "GET", url.origin + url.pathname + url.search, url.host, signal);
  }
  const authority = `${url.hostname}:${url.port === "" ? 443 : url.port}`;
  return exchange(socket, "CONNECT", authority, authority, signal);
}

/** Undefined where the other end closed the connection instead of answering. */
async function refusedOr(work: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ClosedEarly) return undefined;
    throw error;
  }
}

async function closing<T>(socket: Socket, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    socket.destroy();
  }
}

/** Without the brackets that a URL puts around an IPv6 address. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}
