import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Client, ClientChannel } from "ssh2";
import { TransientError } from "../machine/errors";
import type { SshTarget } from "../machine/spec";
import { ChannelStream } from "./channel-stream";
import { type DialOptions, dialHop, type Previous } from "./dial";
import { type SshEnvironment, systemEnvironment } from "./environment";
import {
  CommandFailedError,
  ConnectionLostError,
  ForwardingRefusedError,
  SocketUnavailableError,
} from "./errors";
import { type KeepaliveOptions, startKeepalive } from "./keepalive";
import { resolveRoute } from "./route";
import { shellWord } from "./shell-word";

export interface SshConnection {
  /** The target's name with its address. */
  readonly where: string;
  readonly closed: boolean;
  /**
   * A stream to a Unix socket on the host. Rejects with ForwardingRefusedError or
   * SocketUnavailableError; the stream fails with ConnectionLostError when the connection breaks.
   */
  openUnixSocket(path: string): Promise<Duplex>;
  /**
   * Runs a command: writing feeds its input, reading gives its output. A status other
   * than 0 is a CommandFailedError of the stream, after all output.
   */
  exec(command: string): Promise<Duplex>;
  /** Calls back once, with an error unless `close` was called; at once where it is closed already. */
  onClose(listener: (error?: Error) => void): void;
  close(): Promise<void>;
  /** Whether the connection keeps the process alive, as of net.Socket. */
  ref(): void;
  unref(): void;
}

export interface ConnectOptions extends DialOptions {
  keepalive?: KeepaliveOptions;
}

/** How long a server may take to end its side before the socket is destroyed. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Reasons of SSH_MSG_CHANNEL_OPEN_FAILURE (RFC 4254, section 5.1). */
const OpenFailure = { ADMINISTRATIVELY_PROHIBITED: 1, CONNECT_FAILED: 2, UNKNOWN_CHANNEL_TYPE: 3 } as const;

/**
 * Succeeds where somebody listens on the socket $1. A killed daemon leaves its socket's file behind, so the
 * kernel's list (proc(5), /proc/net/unix: flags are the fourth column, the path is the last) has the last word;
 * where there is none the file must do.
 */
const LISTENING = [
  'test -S "$1" && test -w "$1" || exit 1',
  "test -r /proc/net/unix || exit 0",
  'real=$(readlink -f "$1")',
  "while read -r _ _ _ flags _ _ _ path",
  'do test "$flags" = 00010000 && { test "$path" = "$1" || test "$path" = "$real"; } && exit 0',
  "done </proc/net/unix",
  "exit 1",
].join("; ");

/**
 * Opens a connection, through the jump hosts that ssh_config names. All key material
 * is read now. Throws TransientError (Unreachable, Timeout, CredentialsUnavailable) or
 * PermanentError (Unauthorized, HostKeyMismatch, HostKeyUnknown, HostKeyRevoked,
 * KnownHostsInvalid, CredentialsInvalid, SshConfigInvalid, HandshakeFailed,
 * ForwardingRefused); an abort throws the signal's reason.
 */
export async function connectSsh(
  target: SshTarget,
  env: SshEnvironment = systemEnvironment(),
  options: ConnectOptions = {},
): Promise<SshConnection> {
  const route = await resolveRoute(target, env);
  const clients: Client[] = [];
  let previous: Previous | undefined;
  let socket: Socket | undefined;
  try {
    for (const hop of route) {
      const dialled = await dialHop(hop, previous, env, options);
      clients.push(dialled.client);
      socket ??= dialled.socket;
      previous = { client: dialled.client, hop };
    }
    if (socket === undefined) throw new Error("the first hop has a socket of its own");
    return new Connection(previous?.hop.where ?? target.name, clients, socket, options.keepalive);
  } catch (error) {
    for (const client of clients.reverse()) client.destroy();
    throw error;
  }
}

class Connection implements SshConnection {
  private readonly streams = new Set<ChannelStream>();
  private readonly listeners: ((error?: Error) => void)[] = [];
  private readonly client: Client;
  private isClosed = false;
  private closing = false;
  private failure: unknown;
  private closeError: Error | undefined;

  /** @param clients The jump hosts' first, the target's last. */
  constructor(
    readonly where: string,
    private readonly clients: readonly Client[],
    private readonly socket: Socket,
    keepalive: KeepaliveOptions | undefined,
  ) {
    const client = clients.at(-1);
    if (client === undefined) throw new Error("a connection has at least one client");
    this.client = client;
    const stopKeepalive = startKeepalive(
      {
        // A request that every server answers, with a refusal: nothing was forwarded.
        send: (answered) => {
          if (!this.closed) client.unforwardIn("127.0.0.1", 0, answered);
        },
        received: () => (clients.length === 1 ? socket.bytesRead : 0),
        dead: () => {
          this.failure = new Error("the server no longer answers");
          this.destroy();
        },
      },
      keepalive,
    );
    client.on("error", (error) => {
      this.failure ??= error;
    });
    client.once("close", () => {
      stopKeepalive();
      this.finish();
    });
  }

  get closed(): boolean {
    return this.isClosed || this.closing || !this.socket.writable;
  }

  async openUnixSocket(path: string): Promise<Duplex> {
    const refused: readonly unknown[] = [
      OpenFailure.ADMINISTRATIVELY_PROHIBITED,
      OpenFailure.UNKNOWN_CHANNEL_TYPE,
    ];
    const channel = await this.open(
      (done) => this.client.openssh_forwardOutStreamLocal(path, done),
      async (reason, cause) => {
        if (refused.includes(reason)) return new ForwardingRefusedError(this.where, path, cause);
        if (reason !== OpenFailure.CONNECT_FAILED) return undefined;
        // OpenSSH says "connect failed" as well where its policy forbids the forwarding.
        return (await this.isOpenableSocket(path))
          ? new ForwardingRefusedError(this.where, path, cause)
          : new SocketUnavailableError(this.where, path, cause);
      },
    );
    return this.track(new ChannelStream(channel, this.where));
  }

  async exec(command: string): Promise<Duplex> {
    const channel = await this.open(
      (done) => this.client.exec(command, done),
      async () => undefined,
    );
    return this.track(new ChannelStream(channel, this.where, command));
  }

  onClose(listener: (error?: Error) => void): void {
    if (this.isClosed) queueMicrotask(() => listener(this.closeError));
    else this.listeners.push(listener);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.closing = true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS).unref();
      this.onClose(() => {
        clearTimeout(timer);
        resolve();
      });
      this.client.end();
    });
  }

  ref(): void {
    this.socket.ref();
  }

  unref(): void {
    this.socket.unref();
  }

  private open(
    request: (done: (error: Error | undefined, channel: ClientChannel) => void) => void,
    explain: (reason: unknown, cause: Error) => Promise<Error | undefined>,
  ): Promise<ClientChannel> {
    return new Promise((resolve, reject) => {
      if (this.closed) {
        reject(this.lost());
        return;
      }
      request((error, channel) => {
        if (error === undefined) resolve(channel);
        else if (this.closed) reject(this.lost());
        else {
          const reason = "reason" in error ? error.reason : undefined;
          explain(reason, error).then((fault) => reject(fault ?? this.channelRefused(error)), reject);
        }
      });
    });
  }

  /** Whether the login sees a socket at the path that it may write to and that somebody listens on. */
  private async isOpenableSocket(path: string): Promise<boolean> {
    try {
      const probe = await this.exec(`sh -c ${shellWord(LISTENING)} sh ${shellWord(path)}`);
      await probe.end().resume().toArray();
      return true;
    } catch (error) {
      // No, or commands are forbidden too: then nothing better is known than that it did not open.
      if (error instanceof CommandFailedError || error instanceof TransientError) return false;
      throw error;
    }
  }

  private track(stream: ChannelStream): ChannelStream {
    this.streams.add(stream);
    stream.once("close", () => this.streams.delete(stream));
    return stream;
  }

  private channelRefused(cause: Error): TransientError {
    return new TransientError({
      reason: "ChannelRefused",
      where: this.where,
      message: `the server does not open another channel: ${cause.message}`,
      remedy: "Raise MaxSessions in the host's sshd_config if this stays",
      cause,
    });
  }

  private lost(): ConnectionLostError {
    return new ConnectionLostError(this.where, this.failure);
  }

  private destroy(): void {
    for (const client of [...this.clients].reverse()) client.destroy();
    this.socket.destroy();
  }

  private finish(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.closeError = this.closing ? undefined : this.lost();
    for (const stream of this.streams) stream.destroy(this.lost());
    for (const client of this.clients.slice(0, -1).reverse()) client.end();
    for (const listener of this.listeners.splice(0)) listener(this.closeError);
  }
}
