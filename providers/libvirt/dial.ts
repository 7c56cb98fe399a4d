import type { Duplex } from "node:stream";
import { PermanentError, TransientError } from "../machine/errors";
import { ForwardingRefusedError, SocketUnavailableError } from "../ssh/errors";
import { LibvirtClient, type OpenOptions } from "./client";
import { ErrorCode, LibvirtClosedError, LibvirtError } from "./errors";
import { procedures } from "./procedures";

/** What dialling needs of an SSH connection. */
export interface UnixForwarder {
  /** Rejects with ForwardingRefusedError or SocketUnavailableError, among others. */
  openUnixSocket(path: string): Promise<Duplex>;
  exec(command: string): Promise<Duplex>;
}

export interface DialOptions extends OpenOptions {
  /** The host's name in the config; it stands in every message. */
  hostName: string;
  /** libvirt's socket on the host, instead of the known places. */
  socket?: string;
}

/**
 * Where daemons listen: libvirtd (or virtproxyd in its place), and virtqemud
 * where the daemons are split. Never the read-only sockets.
 */
export const DEFAULT_SOCKETS: readonly string[] = [
  "/var/run/libvirt/libvirt-sock",
  "/var/run/libvirt/virtqemud-sock",
];

/** The daemon knows who we are and lets us do nothing, or cannot find out who we are. */
const ACCESS_CODES: readonly number[] = [
  ErrorCode.AUTH_FAILED,
  ErrorCode.AUTH_CANCELLED,
  ErrorCode.ACCESS_DENIED,
  ErrorCode.AUTH_UNAVAILABLE,
];

/**
 * Opens libvirt on the far side of an SSH connection: through a forwarded
 * socket, or, where the server's policy forbids that, through a program there.
 *
 * Rejects with TransientError `LibvirtUnavailable` where no daemon listens, and
 * with PermanentError `LibvirtAccessDenied` or `ForwardingRefused`.
 */
export async function dialLibvirt(ssh: UnixForwarder, options: DialOptions): Promise<LibvirtClient> {
  const sockets = options.socket === undefined ? DEFAULT_SOCKETS : [options.socket];
  let refusal: ForwardingRefusedError | undefined;
  let unavailable: SocketUnavailableError | undefined;
  for (const path of sockets) {
    try {
      return await open(await ssh.openUnixSocket(path), options);
    } catch (error) {
      if (error instanceof ForwardingRefusedError) refusal ??= error;
      else if (error instanceof SocketUnavailableError) unavailable ??= error;
      else throw error;
    }
  }
  if (refusal !== undefined) return openByCommand(ssh, sockets, options, refusal);
  throw new TransientError({
    reason: "LibvirtUnavailable",
    where: options.hostName,
    message: `no libvirt daemon can be reached at ${sockets.join(" or ")}`,
    remedy:
      "Install it (Debian: apt install libvirt-daemon-system qemu-system), start it (systemctl enable --now libvirtd), and add the login to the group libvirt",
    cause: unavailable,
  });
}

async function openByCommand(
  ssh: UnixForwarder,
  sockets: readonly string[],
  options: DialOptions,
  refusal: ForwardingRefusedError,
): Promise<LibvirtClient> {
  const commands = commandsFor(sockets, options);
  for (const command of commands) {
    try {
      return await open(await ssh.exec(command), options);
    } catch (error) {
      // A program that is missing, or finds no daemon, ends before the daemon has said a word.
      if (!(error instanceof LibvirtClosedError)) throw error;
    }
  }
  throw new PermanentError({
    reason: refusal.reason,
    where: options.hostName,
    message: `the SSH server does not forward to ${sockets.join(" or ")}, and no daemon answers through ${commands.join(" or ")}`,
    remedy:
      "Check that libvirtd runs, and set AllowStreamLocalForwarding yes in the host's sshd_config or install virt-ssh-helper or nc there",
    cause: refusal,
  });
}

/** virt-ssh-helper finds the daemon by itself, so a configured socket is not for it. */
function commandsFor(sockets: readonly string[], { socket, uri = "qemu:///system" }: DialOptions): string[] {
  const helper = socket === undefined ? [`virt-ssh-helper ${quoted(uri)}`] : [];
  return [...helper, ...sockets.map((path) => `nc -U ${quoted(path)}`)];
}

async function open(transport: Duplex, options: DialOptions): Promise<LibvirtClient> {
  try {
    return await LibvirtClient.open(transport, options);
  } catch (error) {
    if (!(error instanceof LibvirtError) || !isRefusal(error)) throw error;
    throw new PermanentError({
      reason: "LibvirtAccessDenied",
      where: options.hostName,
      message: `libvirt refuses this login: ${error.message}`,
      remedy: "Add the login to the group libvirt on the host: sudo usermod -aG libvirt LOGIN",
      cause: error,
    });
  }
}

/** A host without polkit or its bus answers the authentication itself with an internal error. */
function isRefusal({ code, rpc }: LibvirtError): boolean {
  return ACCESS_CODES.includes(code) || rpc === procedures.authPolkit.rpc;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
