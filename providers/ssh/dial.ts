import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Client } from "ssh2";
import { type EgressError, PermanentError } from "../machine/errors";
import { type Credentials, readCredentials } from "./credentials";
import { type DialProgress, dialError, timedOut, unreachable } from "./dial-errors";
import type { SshEnvironment } from "./environment";
import { type HostKeyCheck, hostKeyAlgorithms, hostKeyProblem } from "./host-key";
import { lookupName } from "./known-hosts";
import { readKnownHosts } from "./known-hosts-files";
import type { Hop } from "./route";

/** The host before, where there is one: its connection carries the next. */
export interface Previous {
  client: Client;
  hop: Hop;
}

export interface DialOptions {
  /** Milliseconds for connect, handshake and login of one hop. Default 10000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** AES-GCM first: the fastest that both node and OpenSSH have in hardware, and no separate MAC. */
const CIPHERS = [
  "aes128-gcm@openssh.com",
  "aes256-gcm@openssh.com",
  "aes128-ctr",
  "aes192-ctr",
  "aes256-ctr",
  "chacha20-poly1305@openssh.com",
] as const;
const ADMINISTRATIVELY_PROHIBITED = 1; // RFC 4254, section 5.1

/** Opens and verifies one connection. `socket` is the TCP socket where the hop has one of its own. */
export async function dialHop(
  hop: Hop,
  previous: Previous | undefined,
  env: SshEnvironment,
  options: DialOptions,
): Promise<{ client: Client; socket: Socket | undefined }> {
  const { timeoutMs = 10_000, signal } = options;
  signal?.throwIfAborted();
  const check = await hostKeyCheck(hop, previous, env);
  const credentials = await readCredentials(hop, env);

  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(timedOut(hop, timeoutMs)), timeoutMs);
  const stop = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
  try {
    if (previous === undefined) {
      const socket = new Socket();
      socket.setNoDelay(true);
      socket.connect({ host: hop.host, port: hop.port });
      return { client: await logIn(socket, hop, check, credentials, stop), socket };
    }
    const stream = await forward(previous, hop, stop);
    return { client: await logIn(stream, hop, check, credentials, stop), socket: undefined };
  } finally {
    clearTimeout(timer);
  }
}

async function hostKeyCheck(
  hop: Hop,
  previous: Previous | undefined,
  env: SshEnvironment,
): Promise<HostKeyCheck> {
  const { where, host, port, hostKeyAlias: alias } = hop;
  return {
    where,
    host,
    port,
    alias,
    name: lookupName(host, port, alias),
    known: await readKnownHosts(hop, env),
    files: hop.knownHostsFiles.map(({ path }) => path),
    jump: previous === undefined ? undefined : `${previous.hop.user}@${previous.hop.host}`,
  };
}

function logIn(
  sock: Duplex,
  hop: Hop,
  check: HostKeyCheck,
  credentials: Credentials,
  stop: AbortSignal,
): Promise<Client> {
  const client = new Client();
  const progress: DialProgress = { hop, credentials, handshakeDone: false };
  return new Promise<Client>((resolve, reject) => {
    let hostKey: EgressError | undefined;
    let settled = false;
    const settle = () => {
      settled = true;
      stop.removeEventListener("abort", stopped);
    };
    const fail = (error: unknown) => {
      if (settled) return;
      settle();
      reject(error);
      client.destroy();
      sock.destroy();
    };
    const stopped = () => fail(stop.reason);
    stop.addEventListener("abort", stopped);
    // The listener stays for good: an error event that nobody listens to would end the process.
    client.on("error", (error: Error & { level?: string }) => {
      if (error.level === "agent") return; // the next key is tried
      fail(hostKey ?? dialError(error, progress));
    });
    client.once("close", () => fail(unreachable(hop, new Error("the server closed the connection"))));
    client.once("handshake", () => {
      progress.handshakeDone = true;
    });
    client.once("ready", () => {
      settle();
      resolve(client);
    });
    if (stop.aborted) {
      stopped();
      return;
    }
    client.connect({
      sock,
      username: hop.user,
      authHandler: credentials.offered.map(({ method }) => method),
      hostVerifier: (key: Buffer) => {
        hostKey = hostKeyProblem(check, key);
        return hostKey === undefined;
      },
      algorithms: { serverHostKey: hostKeyAlgorithms(check), cipher: [...CIPHERS], compress: ["none"] },
      strictVendor: false, // whether Unix sockets can be forwarded is the server's to say
      readyTimeout: 0, // the deadline of the dial covers it
    });
  });
}

/** A TCP stream to the next hop, made by the host before it. */
function forward({ client, hop: before }: Previous, hop: Hop, stop: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const stopped = () => reject(stop.reason);
    stop.addEventListener("abort", stopped, { once: true });
    client.forwardOut("127.0.0.1", 0, hop.host, hop.port, (error, stream) => {
      stop.removeEventListener("abort", stopped);
      if (error === undefined) {
        if (stop.aborted) stream.destroy();
        else resolve(stream);
        return;
      }
      const refused = "reason" in error && error.reason === ADMINISTRATIVELY_PROHIBITED;
      reject(
        refused
          ? new PermanentError({
              reason: "ForwardingRefused",
              where: before.where,
              message: `the jump host refuses to forward to ${hop.host}, port ${hop.port}`,
              remedy: "Set AllowTcpForwarding yes in the jump host's sshd_config",
              cause: error,
            })
          : unreachable(hop, error, `from ${before.host}`),
      );
    });
  });
}
