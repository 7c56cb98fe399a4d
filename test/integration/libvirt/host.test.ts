import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { LibvirtClient } from "@egress-proxies/providers/libvirt/client";
import { dialLibvirt } from "@egress-proxies/providers/libvirt/dial";
import { ErrorCode, LibvirtClosedError } from "@egress-proxies/providers/libvirt/errors";
import { ListStoragePools, StoragePoolState } from "@egress-proxies/providers/libvirt/flags";
import type { CallRecord } from "@egress-proxies/providers/libvirt/types";
import { ForwardingRefusedError } from "@egress-proxies/providers/ssh/errors";
import { code, NETWORK, openLab, POOL, socketPath } from "./lab-libvirt";

describe("the host of a real libvirtd", () => {
  let client: LibvirtClient;

  before(async () => {
    client = await openLab();
  });

  after(() => client?.close());

  it("has a version, a name and capabilities", async () => {
    assert.ok((await client.connectGetLibVersion()) >= 6_000_000);
    assert.ok((await client.connectGetHostname()).length > 0);
    assert.match(
      await client.connectGetCapabilities({ timeoutMs: 60_000 }),
      /<capabilities>[\s\S]*<domain type='qemu'/,
    );
  });

  it("says what machines it can make", async () => {
    const xml = await client.connectGetDomainCapabilities({
      arch: "x86_64",
      machine: "q35",
      virtType: "qemu",
    });
    assert.match(xml, /<domainCapabilities>[\s\S]*<arch>x86_64<\/arch>/);
    await assert.rejects(
      client.connectGetDomainCapabilities({ arch: "no-such-arch" }),
      code(ErrorCode.INVALID_ARG),
    );
  });

  it("has a storage pool with room", async () => {
    const pool = await client.storagePoolLookupByName(POOL);
    assert.equal(pool.name, POOL);
    assert.equal(await client.storagePoolIsActive(pool), true);
    assert.match(await client.storagePoolGetXMLDesc(pool), /<pool type='dir'>/);
    const info = await client.storagePoolGetInfo(pool);
    assert.equal(info.state, StoragePoolState.RUNNING);
    assert.ok(info.available > 0n && info.capacity >= info.available);
    assert.ok((await client.connectListAllStoragePools()).some(({ uuid }) => uuid === pool.uuid));
    const inactive = await client.connectListAllStoragePools(ListStoragePools.INACTIVE);
    assert.ok(!inactive.some(({ uuid }) => uuid === pool.uuid));
    await assert.rejects(client.storagePoolLookupByName("no-such-pool"), code(ErrorCode.NO_STORAGE_POOL));
  });

  it("has a network that is active, whose leases can be asked for", async () => {
    const network = await client.networkLookupByName(NETWORK);
    assert.equal(network.name, NETWORK);
    assert.equal(await client.networkIsActive(network), true);
    for (const lease of await client.networkGetDhcpLeases(network)) assert.ok(lease.ipaddr.length > 0);
    assert.deepEqual(await client.networkGetDhcpLeases(network, "52:54:00:00:00:01"), []);
    await assert.rejects(client.networkLookupByName("no-such-network"), code(ErrorCode.NO_NETWORK));
  });

  it("answers many calls at once, more than it takes at a time", async () => {
    const names = await Promise.all(Array.from({ length: 200 }, () => client.connectGetHostname()));
    assert.equal(new Set(names).size, 1);
  });

  it("does not open a driver that it does not have", async () => {
    await assert.rejects(LibvirtClient.open(connect(socketPath()), { uri: "nonsense:///system" }), (error) =>
      code(ErrorCode.NO_CONNECT)(error),
    );
  });

  it("answers pings, so that a quiet connection lives", async () => {
    const records: CallRecord[] = [];
    const quiet = await openLab({
      keepaliveIntervalMs: 20,
      keepaliveLimitMs: 100,
      onCall: (record) => records.push(record),
    });
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(quiet.closed, false);
    assert.equal(records.length, 2);
    await quiet.close();
  });

  it("is reached by a program where its socket is not forwarded", async () => {
    const ran: string[] = [];
    // `nc -U` is not part of every machine: the command is noted, and Node stands in for it.
    const program = `const s=require("net").connect(process.argv[1]);process.stdin.pipe(s).pipe(process.stdout)`;
    const viaProgram = await dialLibvirt(
      {
        openUnixSocket: async (path) => {
          throw new ForwardingRefusedError("lab", path);
        },
        exec: async (command) => {
          ran.push(command);
          const child = spawn(process.execPath, ["-e", program, socketPath()], {
            stdio: ["pipe", "pipe", "inherit"],
          });
          return Duplex.from({ readable: child.stdout, writable: child.stdin });
        },
      },
      { hostName: "lab", socket: socketPath() },
    );
    assert.deepEqual(ran, [`nc -U '${socketPath()}'`]);
    assert.ok((await viaProgram.connectGetHostname()).length > 0);
    await viaProgram.close();
  });
});

describe("a line to a real libvirtd", () => {
  let directory: string;
  let relay: Server;
  const open = new Set<Duplex>();

  /** A socket in front of the daemon's, so that the line can be cut and stopped. */
  before(async () => {
    const daemon = socketPath();
    directory = await mkdtemp(join(tmpdir(), "libvirt-line-"));
    relay = createServer((near) => {
      const far = connect(daemon);
      for (const end of [near, far]) {
        open.add(end);
        end.on("error", () => undefined);
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => relay.listen(join(directory, "sock"), resolve));
  });

  after(async () => {
    for (const end of open) end.destroy();
    relay?.close();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  const dial = (limitMs: number) =>
    LibvirtClient.open(connect(join(directory, "sock")), {
      keepaliveIntervalMs: 20,
      keepaliveLimitMs: limitMs,
    });

  it("that is cut closes the client", async () => {
    const client = await dial(10_000);
    const closed = new Promise((resolve) => client.onClose(resolve));
    for (const end of open) end.destroy();
    assert.ok((await closed) instanceof LibvirtClosedError);
    await assert.rejects(client.connectGetHostname(), LibvirtClosedError);
  });

  it("that goes dead is noticed, though nobody calls", async () => {
    const client = await dial(200);
    const closed = new Promise((resolve) => client.onClose(resolve));
    for (const end of open) end.unpipe();
    assert.ok((await closed) instanceof LibvirtClosedError);
  });
});
