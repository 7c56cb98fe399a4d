import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SeenRequest {
  path: string;
  range: string | undefined;
  ifRange: string | undefined;
  authorization: string | undefined;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

/** A real HTTP server whose every answer the test writes itself. */
export class LyingServer {
  readonly seen: SeenRequest[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly origin: string,
  ) {}

  static async start(handler: Handler): Promise<LyingServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const lying = new LyingServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("connection", (socket) => {
      lying.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => lying.sockets.delete(socket));
    });
    server.on("request", (request, response) => {
      const { range, "if-range": ifRange, authorization } = request.headers;
      lying.seen.push({
        path: request.url ?? "",
        range,
        ifRange: typeof ifRange === "string" ? ifRange : undefined,
        authorization,
      });
      handler(request, response, lying.seen.length);
    });
    return lying;
  }

  /** Makes it an HTTP proxy too: it joins every CONNECT to `target`, whatever name was asked for. */
  joinTunnelsTo(target: LyingServer, connects: string[]): void {
    this.server.on("connect", (request, socket) => {
      connects.push(request.url ?? "");
      const onward = connect(Number(new URL(target.origin).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connected\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
      onward.on("error", () => socket.destroy());
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A raw disk with an MBR and reproducible content. */
export function rawDisk(size: number, seed = 1): Buffer {
  const disk = Buffer.alloc(size);
  let state = seed;
  for (let offset = 0; offset < size; offset += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    disk.writeUInt32LE(state, offset);
  }
  disk.writeUInt16BE(0x55aa, 510);
  return disk;
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function sha512(bytes: Buffer): string {
  return createHash("sha512").update(bytes).digest("hex");
}

/** A directory for the length of one test. */
export async function withDirectory<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "egress-images-"));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
