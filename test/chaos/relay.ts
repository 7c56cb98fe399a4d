import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A TCP relay to one server, of a limited speed, whose connections can be cut or held up. */
export class Relay {
  /** Bytes that went through, both ways. */
  relayed = 0;
  private readonly sockets = new Set<Socket>();
  private readonly waiting: { bytes: number; reached: () => void }[] = [];
  private freeAt = 0;
  private goOn: (() => void) | undefined;
  private stalled: Promise<void> = Promise.resolve();

  private constructor(
    private readonly server: Server,
    private readonly bytesPerSecond: number,
  ) {}

  static async open(host: string, port: number, bytesPerSecond: number): Promise<Relay> {
    const server = createServer();
    const relay = new Relay(server, bytesPerSecond);
    server.on("connection", (near) => relay.join(near, connect(port, host)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return relay;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves once so many bytes more have gone through. */
  reaches(bytes: number): Promise<void> {
    return new Promise((reached) => this.waiting.push({ bytes: this.relayed + bytes, reached }));
  }

  /** Ends every connection at once, as a reset does. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
    this.resume();
  }

  /** Lets no byte through any more, of new connections neither. */
  stall(): void {
    this.stalled = new Promise((goOn) => {
      this.goOn = goOn;
    });
  }

  resume(): void {
    this.goOn?.();
  }

  close(): void {
    this.server.close();
    this.cut();
  }

  private join(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.sockets.add(socket.setNoDelay());
      socket.once("close", () => this.sockets.delete(socket));
    }
    const end = () => {
      near.destroy();
      far.destroy();
    };
    const through = (source: AsyncIterable<Buffer>) => this.paced(source);
    pipeline(near, through, far).catch(end); // a cut: the other half goes too
    pipeline(far, through, near).catch(end);
  }

  private async *paced(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.freeAt = Math.max(this.freeAt, Date.now()) + (chunk.length / this.bytesPerSecond) * 1000;
      const wait = this.freeAt - Date.now();
      if (wait > 2) await sleep(wait);
      await this.stalled;
      this.relayed += chunk.length;
      for (const each of this.waiting) if (this.relayed >= each.bytes) each.reached();
      yield chunk;
    }
  }
}
