import { type EgressError, PermanentError, TransientError } from "../machine/errors";
import type { Credentials } from "./credentials";
import { errorCode } from "./environment";
import type { Hop } from "./route";
import { shellWord } from "./shell-word";

/** How far a dial had come when it failed. */
export interface DialProgress {
  hop: Hop;
  credentials: Credentials;
  /** The server's host key was accepted and the keys are exchanged: what follows is the login. */
  handshakeDone: boolean;
}

/** Reasons of SSH_MSG_DISCONNECT (RFC 4253, section 11.1). */
const PROTOCOL_ERROR = 2; // what OpenSSH sends after too many attempts to log in
const NO_MORE_AUTH_METHODS_AVAILABLE = 14;

/** What a failure of ssh2 before the login was complete means, told by its fields. */
export function dialError(error: unknown, progress: DialProgress): EgressError {
  const { hop, handshakeDone } = progress;
  const level = fieldOf(error, "level");
  const code = fieldOf(error, "code");
  if (level === "client-authentication") return unauthorized(progress, error);
  if (handshakeDone && (code === PROTOCOL_ERROR || code === NO_MORE_AUTH_METHODS_AVAILABLE)) {
    return unauthorized(progress, error);
  }
  if (level === "handshake") {
    return new PermanentError({
      reason: "HandshakeFailed",
      where: hop.where,
      message: `the SSH handshake failed: ${textOf(error)}`,
      remedy: `Compare with: ssh -v -p ${hop.port} ${shellWord(`${hop.user}@${hop.host}`)}`,
      cause: error,
    });
  }
  return unreachable(hop, error, handshakeDone ? "during the login" : undefined);
}

export function unreachable(hop: Hop, error: unknown, when?: string): TransientError {
  const code = errorCode(error);
  return new TransientError({
    reason: "Unreachable",
    where: hop.where,
    message:
      code === "ENOTFOUND" || code === "EAI_AGAIN"
        ? `the name ${hop.host} cannot be resolved (${code})`
        : `port ${hop.port} of ${hop.host} cannot be reached over SSH${when === undefined ? "" : ` (${when})`}: ${textOf(error)}`,
    remedy: `Check that the host is up: ssh-keyscan -p ${hop.port} ${shellWord(hop.host)}`,
    cause: error,
  });
}

export function timedOut(hop: Hop, timeoutMs: number): TransientError {
  return new TransientError({
    reason: "Timeout",
    where: hop.where,
    message: `no SSH connection to port ${hop.port} of ${hop.host} within ${timeoutMs / 1000} s`,
    remedy: "Check that the host is up, that no firewall drops the packets, and that sshd is not overloaded",
  });
}

function unauthorized({ hop, credentials }: DialProgress, cause: unknown): PermanentError {
  const { offered, skipped } = credentials;
  const also = skipped.length === 0 ? "" : `; not tried: ${skipped.join("; ")}`;
  const key = hop.keys.only ?? (hop.keys.filesAreDefaults ? undefined : hop.keys.files[0]);
  const port = hop.port === 22 ? "" : `-p ${hop.port} `;
  return new PermanentError({
    reason: "Unauthorized",
    where: hop.where,
    message: `the server does not let ${hop.user} log in with ${offered.map(({ label }) => label).join(", ")}${also}`,
    remedy: `Check user and keyFile, or install the key: ssh-copy-id ${key === undefined ? "" : `-i ${shellWord(key)} `}${port}${shellWord(`${hop.user}@${hop.host}`)}`,
    cause,
  });
}

function fieldOf(error: unknown, name: "level" | "code"): unknown {
  return typeof error === "object" && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}

function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(textOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}
