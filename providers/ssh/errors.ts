import { PermanentError, TransientError } from "../machine/errors";

/**
 * The SSH server's policy refuses to forward to Unix sockets (`AllowStreamLocalForwarding no`).
 * OpenSSH gives no reason: that somebody listens on the socket tells it from a daemon that is gone.
 */
export class ForwardingRefusedError extends PermanentError {
  constructor(
    where: string,
    readonly path: string,
    cause?: unknown,
  ) {
    super({
      reason: "ForwardingRefused",
      where,
      message: `the SSH server does not forward to the socket ${path}, though it is there`,
      remedy:
        "Set AllowStreamLocalForwarding yes in the host's sshd_config, and check that the socket's daemon runs",
      cause,
    });
  }
}

/** The socket is not there, nobody listens on it, or the login may not open it. */
export class SocketUnavailableError extends TransientError {
  constructor(
    where: string,
    readonly path: string,
    cause?: unknown,
  ) {
    super({
      reason: "SocketUnavailable",
      where,
      message: `the socket ${path} does not exist, refuses connections, or the login may not open it`,
      remedy: `Look with: ls -l ${path}`,
      cause,
    });
  }
}

/** A remote command ended with a status other than 0, or was ended by a signal. */
export class CommandFailedError extends PermanentError {
  constructor(
    where: string,
    readonly command: string,
    /** Undefined where a signal ended the command. */
    readonly exitCode: number | undefined,
    readonly signal: string | undefined,
    /** The last 4 KiB of the command's standard error. */
    readonly stderr: string,
  ) {
    const end =
      exitCode === undefined ? `was ended by ${signal ?? "an unknown signal"}` : `ended with ${exitCode}`;
    const said = stderr.trim();
    super({
      reason: "CommandFailed",
      where,
      message: `\`${command}\` ${end}${said === "" ? "" : `: ${said}`}`,
    });
  }
}

/** The connection ended while a stream was open or a request was under way. */
export class ConnectionLostError extends TransientError {
  constructor(where: string, cause?: unknown) {
    super({
      reason: "ConnectionLost",
      where,
      message: "the SSH connection was lost",
      remedy: "Run again; if it recurs, look at sshd's log on the host and at the network",
      cause,
    });
  }
}
