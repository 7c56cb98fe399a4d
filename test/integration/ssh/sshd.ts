import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket, connect as tcpConnect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { SshTarget } from "@egress-proxies/providers/machine/spec";
import type { SshEnvironment } from "@egress-proxies/providers/ssh/environment";
import { systemEnvironment } from "@egress-proxies/providers/ssh/environment";

export type KeyType = "ed25519" | "ecdsa" | "rsa";

/** A directory of keys and files, a home of its own for ssh, and what was started in it. */
export class Workshop {
  readonly directory = mkdtempSync(join(tmpdir(), "egress-ssh-"));
  readonly variables: Record<string, string | undefined> = {};
  private readonly cleanups: (() => unknown)[] = [];

  constructor() {
    mkdirSync(join(this.directory, ".ssh"));
    this.keygen("client");
    this.keygen("stranger");
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string): string {
    writeFileSync(this.path(name), content, { mode: 0o600 });
    return this.path(name);
  }

  /** Makes a key pair; the path is the private key's. */
  keygen(name: string, type: KeyType = "ed25519", passphrase = ""): string {
    execFileSync("ssh-keygen", ["-q", "-t", type, "-N", passphrase, "-C", name, "-f", this.path(name)]);
    return this.path(name);
  }

  /** `type base64` of a public key. */
  publicKey(name: string): string {
    return readFileSync(this.path(`${name}.pub`), "utf8")
      .split(" ")
      .slice(0, 2)
      .join(" ");
  }

  env(): SshEnvironment {
    return { ...systemEnvironment(), homeDirectory: this.directory, variables: this.variables };
  }

  onStop(cleanup: () => unknown): void {
    this.cleanups.push(cleanup);
  }

  async stop(): Promise<void> {
    for (const cleanup of this.cleanups.reverse()) await cleanup();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export interface SshdOptions {
  hostKeys?: readonly KeyType[];
  /** More lines of sshd_config. */
  config?: readonly string[];
}

/** An OpenSSH server on 127.0.0.1 that lets the key `client` of its workshop in. */
export class Sshd {
  readonly user = userInfo().username;

  private constructor(
    private readonly shop: Workshop,
    readonly port: number,
    private readonly name: string,
    private readonly keyTypes: readonly KeyType[],
  ) {}

  static async start(shop: Workshop, options: SshdOptions = {}): Promise<Sshd> {
    const { hostKeys = ["ed25519"], config = [] } = options;
    if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true }); // sshd as root asks for it
    const port = await freePort();
    const name = `sshd-${port}`;
    for (const type of hostKeys) shop.keygen(`${name}-${type}`, type);
    const file = shop.write(
      `${name}.conf`,
      [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        ...hostKeys.map((type) => `HostKey ${shop.path(`${name}-${type}`)}`),
        `AuthorizedKeysFile ${shop.path("client.pub")} ${shop.path("more-keys")}`,
        `PidFile ${shop.path(`${name}.pid`)}`,
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "PermitRootLogin yes",
        "MaxStartups 100",
        ...config,
        "",
      ].join("\n"),
    );
    const child = spawn("/usr/sbin/sshd", ["-D", "-f", file, "-E", shop.path(`${name}.log`)], {
      stdio: "ignore",
    });
    shop.onStop(() => ended(child));
    const server = new Sshd(shop, port, name, hostKeys);
    await listening(port);
    return server;
  }

  /** A line of known_hosts for one of its keys. */
  knownHost(type: KeyType = this.keyTypes[0] ?? "ed25519", host = `[127.0.0.1]:${this.port}`): string {
    return `${host} ${this.shop.publicKey(`${this.name}-${type}`)}\n`;
  }

  /** A target that connects, with what the test wants to be otherwise. */
  target(changes: Partial<SshTarget> = {}): SshTarget {
    return {
      name: "lab",
      address: "127.0.0.1",
      port: this.port,
      user: this.user,
      keyFile: this.shop.path("client"),
      knownHostsFile: this.shop.write(`${this.name}.known`, this.knownHost()),
      ...changes,
    };
  }
}

/** Stands between client and server, to cut the line or to let it go silent. */
export class Relay {
  private readonly sockets = new Set<Socket>();

  private constructor(readonly port: number) {}

  static async start(shop: Workshop, to: number): Promise<Relay> {
    const port = await freePort();
    const relay = new Relay(port);
    const server = createServer((inner) => {
      const outer = tcpConnect(to, "127.0.0.1");
      for (const socket of [inner, outer]) {
        relay.sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => {
          relay.sockets.delete(socket);
          inner.destroy();
          outer.destroy();
        });
      }
      inner.pipe(outer).pipe(inner);
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    shop.onStop(() => {
      relay.cut();
      server.close();
    });
    return relay;
  }

  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Resets every connection. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  /** Keeps every connection open and passes nothing on. */
  freeze(): void {
    for (const socket of this.sockets) {
      socket.unpipe();
      socket.pause();
    }
  }
}

/** A server that accepts and never says a word. */
export async function startSilentServer(shop: Workshop): Promise<number> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  shop.onStop(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** An ssh-agent that holds the keys named; the path is its socket's. */
export async function startAgent(shop: Workshop, keys: readonly string[]): Promise<string> {
  const socket = shop.path(`agent-${keys.join("-")}`);
  const child = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  shop.onStop(() => ended(child));
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const probe = tcpConnect(socket, () => {
          probe.destroy();
          resolve();
        });
        probe.on("error", reject);
      }),
  );
  for (const key of keys) {
    execFileSync("ssh-add", ["-q", shop.path(key)], {
      env: { ...process.env, SSH_AUTH_SOCK: socket },
      stdio: "ignore",
    });
  }
  return socket;
}

export function addKnownHosts(shop: Workshop, ...lines: string[]): void {
  appendFileSync(shop.path(".ssh/known_hosts"), lines.join(""));
}

/** Tries until it succeeds; fails with the last error after `timeoutMs`. */
export async function eventually<T>(work: () => Promise<T> | T, timeoutMs = 5_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function listening(port: number): Promise<void> {
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = tcpConnect(port, "127.0.0.1", () => {
          socket.destroy();
          resolve();
        });
        socket.on("error", reject);
      }),
  );
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exit;
}
