import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { connectSsh, type SshConnection } from "@egress-proxies/providers/ssh/connection";
import {
  CommandFailedError,
  ConnectionLostError,
  ForwardingRefusedError,
  SocketUnavailableError,
} from "@egress-proxies/providers/ssh/errors";
import { Relay, Sshd, Workshop } from "./sshd";

describe("an SSH connection", () => {
  let shop: Workshop;
  let sshd: Sshd;
  const opened: SshConnection[] = [];

  before(async () => {
    shop = new Workshop();
    sshd = await Sshd.start(shop);
  });
  after(() => shop.stop());
  afterEach(async () => {
    for (const connection of opened.splice(0)) await connection.close();
  });

  async function connect(...args: Parameters<typeof connectSsh>): Promise<SshConnection> {
    const connection = await connectSsh(args[0], args[1] ?? shop.env(), args[2]);
    opened.push(connection);
    return connection;
  }

  /** A server on a Unix socket that lives as long as the workshop. */
  async function listen(name: string, serve: (socket: Duplex) => void): Promise<string> {
    const path = shop.path(name);
    const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
      shop.onStop(() => socket.destroy());
      socket.on("error", () => socket.destroy());
      serve(socket);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    shop.onStop(() => server.close());
    return path;
  }

  async function text(stream: Duplex): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  }

  async function failureOf(stream: Duplex): Promise<unknown> {
    const [error] = (await once(stream, "error")) as [unknown];
    return error;
  }

  it("carries bytes both ways through a Unix socket, and the end too", async () => {
    const path = await listen("echo", (socket) => socket.pipe(socket));
    const stream = await (await connect(sshd.target())).openUnixSocket(path);
    const sent = randomBytes(6 * 1024 * 1024);
    stream.end(sent);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    assert(Buffer.concat(chunks).equals(sent));
  });

  it("keeps the bytes whole while the server renews its keys", async () => {
    const renewing = await Sshd.start(shop, { config: ["RekeyLimit 1M"] });
    const path = await listen("echo-rekey", (socket) => socket.pipe(socket));
    const stream = await (await connect(renewing.target())).openUnixSocket(path);
    const sent = randomBytes(16 * 1024 * 1024);
    stream.end(sent);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    assert(Buffer.concat(chunks).equals(sent));
  });

  it("holds a writer back while nobody reads at the other end", async () => {
    const path = await listen("stuck", (socket) => socket.pause());
    const stream = await (await connect(sshd.target())).openUnixSocket(path);
    let taken = 0;
    const chunk = Buffer.alloc(256 * 1024);
    const write = () => stream.write(chunk, (error) => (error ? undefined : ++taken));
    for (let count = 0; count < 64; count++) write();
    await (await (await connect(sshd.target())).exec("sleep 0.5")).end().resume().toArray();
    assert(taken > 0 && taken * chunk.length <= 8 * 1024 * 1024, `${taken} chunks were taken`);
    stream.on("error", () => undefined).destroy();
  });

  it("tells a socket that is not there from a command that fails", async () => {
    const connection = await connect(sshd.target());
    await assert.rejects(connection.openUnixSocket(shop.path("no-socket")), (error: unknown) => {
      assert(error instanceof SocketUnavailableError);
      assert.equal(error.path, shop.path("no-socket"));
      return true;
    });
    const stream = await connection.exec("echo output; echo complaint >&2; exit 7");
    const output: string[] = [];
    await assert.rejects(
      async () => {
        for await (const chunk of stream.end()) output.push(String(chunk));
      },
      (error: unknown) => {
        assert(error instanceof CommandFailedError);
        assert.equal(error.exitCode, 7);
        assert.equal(error.stderr, "complaint\n");
        return true;
      },
    );
    assert.deepEqual(output, ["output\n"]);
  });

  it("says that the server forbids Unix sockets", async () => {
    const strict = await Sshd.start(shop, { config: ["AllowStreamLocalForwarding no"] });
    const path = await listen("forbidden", (socket) => socket.end());
    await assert.rejects(
      (await connect(strict.target())).openUnixSocket(path),
      (error: unknown) => error instanceof ForwardingRefusedError && error.path === path,
    );
  });

  it("tells a socket whose daemon was killed from a forbidden one", async () => {
    const path = shop.path("abandoned");
    const daemon = spawn(process.execPath, [
      "-e",
      "net.createServer().listen(process.argv[1], () => console.log())",
      path,
    ]);
    await once(daemon.stdout, "data");
    daemon.kill("SIGKILL"); // its socket's file stays
    await once(daemon, "exit");
    await assert.rejects(
      (await connect(sshd.target())).openUnixSocket(path),
      (error: unknown) => error instanceof SocketUnavailableError && error.path === path,
    );
  });

  it("feeds a command and hears when a signal ends it", async () => {
    const connection = await connect(sshd.target());
    assert.equal(await text((await connection.exec("tr a-z A-Z")).end("shout")), "SHOUT");
    const killed = await connection.exec("kill -9 $$");
    const error = await failureOf(killed.resume());
    assert(error instanceof CommandFailedError);
    assert.equal(error.signal, "SIGKILL");
  });

  it("ends both sides where the other end closes", async () => {
    const path = await listen("rude", (socket) => socket.destroy());
    const stream = await (await connect(sshd.target())).openUnixSocket(path);
    stream.on("error", () => undefined).resume();
    await new Promise((resolve) => stream.once("close", resolve));
    assert(stream.destroyed);
  });

  it("fails every stream, and the write under way, when the line is cut", async () => {
    const relay = await Relay.start(shop, sshd.port);
    const path = await listen("sink", (socket) => socket.pause());
    const connection = await connect(
      sshd.target({
        port: relay.port,
        knownHostsFile: shop.write("relay", sshd.knownHost("ed25519", "127.0.0.1")),
      }),
    );
    const closed = new Promise<Error | undefined>((resolve) => connection.onClose(resolve));
    const reader = await connection.openUnixSocket(path);
    const writer = await connection.openUnixSocket(path);
    const pending = new Promise<unknown>((resolve) => writer.write(Buffer.alloc(16 * 1024 * 1024), resolve));
    const failures = [failureOf(reader), failureOf(writer)];
    relay.cut();
    for (const failure of [...failures, closed, pending])
      assert((await failure) instanceof ConnectionLostError);
    assert(connection.closed);
    await assert.rejects(connection.exec("true"), ConnectionLostError);
  });

  it("notices a peer that no longer answers", async () => {
    const relay = await Relay.start(shop, sshd.port);
    const path = await listen("quiet", (socket) => socket.pause());
    const connection = await connect(
      sshd.target({
        port: relay.port,
        knownHostsFile: shop.write("relay", sshd.knownHost("ed25519", "127.0.0.1")),
      }),
      shop.env(),
      { keepalive: { intervalMs: 50, misses: 3 } },
    );
    const stream = await connection.openUnixSocket(path);
    await (await connection.exec("sleep 0.6")).end().resume().toArray(); // answered probes do no harm
    assert(!connection.closed);
    const failure = failureOf(stream);
    relay.freeze();
    assert((await failure) instanceof ConnectionLostError);
    assert(connection.closed);
  });

  it("closes without an error, and its streams do not end as if all were read", async () => {
    const connection = await connect(sshd.target());
    const stream = await connection.openUnixSocket(await listen("open", (socket) => socket.pause()));
    const failure = failureOf(stream);
    const closed = new Promise<Error | undefined>((resolve) => connection.onClose(resolve));
    await connection.close();
    assert.equal(await closed, undefined);
    assert((await failure) instanceof ConnectionLostError);
    await connection.close();
  });
});
