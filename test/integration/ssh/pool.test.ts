import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connectSsh } from "@egress-proxies/providers/ssh/connection";
import { SshPool } from "@egress-proxies/providers/ssh/pool";
import { eventually, Relay, Sshd, Workshop } from "./sshd";

describe("SshPool with a real server", () => {
  let shop: Workshop;
  let sshd: Sshd;
  let relay: Relay;
  let pool: SshPool;
  const idleMs = 100;

  before(async () => {
    shop = new Workshop();
    sshd = await Sshd.start(shop);
    relay = await Relay.start(shop, sshd.port);
  });
  after(() => shop.stop());
  beforeEach(() => {
    pool = new SshPool({ idleMs, connect: (target) => connectSsh(target, shop.env()) });
  });
  afterEach(() => pool.closeAll());

  const target = () =>
    sshd.target({
      port: relay.port,
      knownHostsFile: shop.write("relay", sshd.knownHost("ed25519", "127.0.0.1")),
    });

  it("opens one connection for calls and one for bulk bytes, and closes them when idle", async () => {
    const leases = await Promise.all([
      ...Array.from({ length: 5 }, () => pool.acquire(target(), "calls")),
      pool.acquire(target(), "bulk"),
    ]);
    assert.equal(relay.connections, 2);
    for (const lease of leases) lease.release();
    await eventually(() => assert.equal(relay.connections, 0));
  });

  it("dials anew after the line was cut", async () => {
    const first = await pool.acquire(target(), "calls");
    relay.cut();
    await eventually(() => assert(first.connection.closed));
    first.release();
    const second = await pool.acquire(target(), "calls");
    assert.notEqual(second.connection, first.connection);
    await (await second.connection.exec("true")).end().resume().toArray();
    second.release();
  });

  it("lets the process end while nothing is leased, long before the connection is idle for good", async () => {
    const pools = require.resolve("@egress-proxies/providers/ssh/pool");
    const script = `
      const { SshPool } = require(${JSON.stringify(pools)});
      const pool = new SshPool({ idleMs: 60_000 });
      pool.acquire(${JSON.stringify(sshd.target())}, "calls").then(async (lease) => {
        await (await lease.connection.exec("sleep 0.2")).end().resume().toArray();
        console.log("used");
        lease.release();
      });`;
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", script], { timeout: 10_000 });
    assert.equal(stdout, "used\n");
  });
});
