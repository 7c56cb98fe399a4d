import { isWithin } from "./addresses";
import type { Answer } from "./exchange";
import { StageFailure } from "./report";

/** Statuses by which a target turns a crawler away. */
const BLOCKING = new Set([401, 403, 429]);

/** What squid says in `X-Squid-Error` where the fault lies behind it. */
const BEHIND_PROXY = new Set([
  "ERR_CONNECT_FAIL",
  "ERR_DNS_FAIL",
  "ERR_READ_ERROR",
  "ERR_READ_TIMEOUT",
  "ERR_ZERO_SIZE_OBJECT",
]);

/** Where a request came from, for the message that it was refused. */
export interface Origin {
  /** Our address, as this end of the connection knows it. */
  address: string;
  allowedClients: readonly string[];
}

/**
 * Throws where a proxy itself answered a request that it should have passed on.
 * To a CONNECT every answer but a 2xx is the proxy's own (RFC 9110, section 9.3.6);
 * a GET may have got the target's, which carries no `X-Squid-Error`.
 *
 * @throws StageFailure AccessDenied, TargetUnreachable; UnexpectedStatus for CONNECT
 */
export function assertPassedOn(answer: Answer, method: "GET" | "CONNECT", origin: Origin): void {
  const error = squidError(answer);
  const own = method === "CONNECT" || error !== undefined;
  const said = error === undefined ? `${answer.status}` : `${answer.status} ${error}`;
  if (answer.status === 407 || (answer.status === 403 && own)) {
    throw new StageFailure("AccessDenied", denied(said, answer.status, origin));
  }
  if (error !== undefined && BEHIND_PROXY.has(error)) {
    throw new StageFailure("TargetUnreachable", `cannot reach the target (${said})`);
  }
  if (method === "GET") return;
  if (answer.status === 502 || answer.status === 504) {
    throw new StageFailure("TargetUnreachable", `cannot reach the target (${said})`);
  }
  if (answer.status < 200 || answer.status > 299) {
    throw new StageFailure("UnexpectedStatus", `answers ${said} to CONNECT instead of 200`);
  }
}

/**
 * Throws where the target's own answer is not the expected one.
 *
 * @throws StageFailure Blocked, UnexpectedStatus
 */
export function assertExpected(answer: Answer, target: { url: string; expectedStatus: number }): void {
  const { status } = answer;
  if (status === target.expectedStatus) return;
  const error = squidError(answer);
  const seen = `${target.url} answers ${error === undefined ? status : `${status} ${error}`} instead of ${target.expectedStatus}`;
  throw new StageFailure(BLOCKING.has(status) ? "Blocked" : "UnexpectedStatus", `works, but ${seen}`);
}

/** 403 and 407, and what else a proxy says where it does not serve a request. */
export function isRefusal({ status }: Answer): boolean {
  return status === 403 || status === 407;
}

/** The code alone: squid adds a number, as in `ERR_DNS_FAIL 0`. Bounded, because it goes into state. */
function squidError({ headers }: Answer): string | undefined {
  const value = headers["x-squid-error"];
  return typeof value === "string" ? /^[A-Z0-9_]{1,64}/.exec(value)?.[0] : undefined;
}

function denied(said: string, status: number, { address, allowedClients }: Origin): string {
  if (status === 407) return `asks for credentials (${said}), and the check has none`;
  if (allowedClients.length === 0) return `refuses our address ${address} (${said})`;
  return isWithin(allowedClients, address)
    ? `refuses our address ${address} (${said}) though it is in allowedClients: the proxy has another list, sees another address, or denies the target`
    : `refuses us (${said}): our address ${address} is not in allowedClients`;
}
