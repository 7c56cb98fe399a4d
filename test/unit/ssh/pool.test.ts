import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import type { SshTarget } from "@egress-proxies/providers/machine/spec";
import type { SshConnection } from "@egress-proxies/providers/ssh/connection";
import { SshPool } from "@egress-proxies/providers/ssh/pool";

class FakeConnection implements SshConnection {
  readonly where = "lab (host)";
  closed = false;
  held = true;
  private readonly listeners: ((error?: Error) => void)[] = [];
  readonly ended = new Promise<void>((resolve) => this.onClose(() => resolve()));

  openUnixSocket = async () => new Duplex();
  exec = async () => new Duplex();
  onClose(listener: (error?: Error) => void): void {
    this.listeners.push(listener);
  }
  async close(): Promise<void> {
    this.break();
  }
  break(error?: Error): void {
    this.closed = true;
    for (const listener of this.listeners.splice(0)) listener(error);
  }
  ref(): void {
    this.held = true;
  }
  unref(): void {
    this.held = false;
  }
}

describe("SshPool", () => {
  const target: SshTarget = { name: "lab", address: "host" };
  let dials: FakeConnection[];
  let failures: Error[];
  let pool: SshPool;

  beforeEach(() => {
    dials = [];
    failures = [];
    pool = new SshPool({
      idleMs: 5,
      connect: async () => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        const connection = new FakeConnection();
        dials.push(connection);
        return connection;
      },
    });
  });

  it("shares one dial among all who ask at once, whatever name the target has", async () => {
    const leases = await Promise.all([
      pool.acquire(target, "calls"),
      pool.acquire({ ...target, name: "other" }, "calls"),
      pool.acquire(target, "calls"),
    ]);
    assert.equal(dials.length, 1);
    assert.equal(new Set(leases.map(({ connection }) => connection)).size, 1);
  });

  it("keeps apart what is reached in another way, and bulk from calls", async () => {
    await Promise.all([
      pool.acquire(target, "calls"),
      pool.acquire(target, "bulk"),
      ...(
        [{ port: 2 }, { user: "a" }, { keyFile: "a" }, { knownHostsFile: "a" }, { configFile: "a" }] as const
      ).map((change) => pool.acquire({ ...target, ...change }, "calls")),
    ]);
    assert.equal(dials.length, 7);
  });

  it("closes a connection only once its last lease has been free for a while", async () => {
    const first = await pool.acquire(target, "calls");
    const second = await pool.acquire(target, "calls");
    first.release();
    first.release();
    assert(dials[0]?.held);
    second.release();
    assert(!dials[0]?.held);
    const third = await pool.acquire(target, "calls");
    assert.equal(third.connection, first.connection);
    assert(dials[0]?.held);
    third.release();
    // The pool's timer is unref'ed, so something else has to keep the process here meanwhile.
    const keep = setTimeout(() => undefined, 10_000);
    await dials[0]?.ended;
    clearTimeout(keep);
    await pool.acquire(target, "calls");
    assert.equal(dials.length, 2);
  });

  it("drops a broken connection", async () => {
    const first = await pool.acquire(target, "calls");
    dials[0]?.break(new Error("cut"));
    const second = await pool.acquire(target, "calls");
    assert.notEqual(second.connection, first.connection);
    first.release();
    assert(!dials[1]?.closed);
  });

  it("drops a connection that is closed before it says so", async () => {
    const first = await pool.acquire(target, "calls");
    if (dials[0] !== undefined) dials[0].closed = true;
    assert.notEqual((await pool.acquire(target, "calls")).connection, first.connection);
  });

  it("fails all who waited for a dial, and forgets it", async () => {
    failures.push(new Error("refused"));
    const results = await Promise.allSettled([pool.acquire(target, "calls"), pool.acquire(target, "calls")]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    await pool.acquire(target, "calls");
    assert.equal(dials.length, 1);
  });

  it("keeps the process alive until what it closes is closed, leased or not", async () => {
    const lease = await pool.acquire(target, "calls");
    lease.release();
    await pool.closeAll();
    assert(dials[0]?.closed && dials[0].held);
  });

  it("closes everything, dials under way too, and can be used again", async () => {
    await pool.acquire(target, "calls");
    const pending = pool.acquire(target, "bulk");
    await pool.closeAll();
    await pending.catch(() => undefined);
    assert(dials.every(({ closed }) => closed));
    const after = await pool.acquire(target, "calls");
    assert(!after.connection.closed);
  });
});
