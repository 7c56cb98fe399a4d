import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

describe("a provider process whose run is over", function () {
  this.timeout(15_000);
  let server: Server;
  let sockets: Socket[];
  let child: ChildProcess;
  let said: string;

  beforeEach(async () => {
    sockets = [];
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      socket.write("settings"); // a gRPC server speaks first
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(() => {
    child.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  async function start(busyMs: number): Promise<void> {
    const { port } = server.address() as AddressInfo;
    const connected = once(server, "connection");
    child = spawn(process.execPath, [join(__dirname, "engine-child.js"), `127.0.0.1:${port}`, `${busyMs}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    said = "";
    await new Promise<void>((resolve) => {
      child.stdout?.on("data", (chunk: Buffer) => {
        said += chunk;
        if (said.includes("ready")) resolve();
      });
    });
    await connected;
  }

  /** Milliseconds until it has ended. */
  async function endAfter(over: () => void): Promise<number> {
    const began = performance.now();
    const closed = once(child, "close");
    over();
    assert.deepEqual(await closed, [0, null]);
    return performance.now() - began;
  }

  it("ends at once where nothing is at work: the engine waits for it", async () => {
    await start(0);
    assert((await endAfter(() => child.kill("SIGINT"))) < 2_000);
  });

  it("ends once the operation under way has", async () => {
    await start(1_000);
    await endAfter(() => child.kill("SIGINT"));
    assert.match(said, /done/);
  });

  it("ends by itself where the engine is gone", async () => {
    await start(0);
    await endAfter(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
  });
});
