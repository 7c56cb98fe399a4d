import assert from "node:assert/strict";
import { LibvirtClosedError } from "@egress-proxies/providers/libvirt/errors";
import type { Frame } from "@egress-proxies/providers/libvirt/frame";
import { Program, procedures } from "@egress-proxies/providers/libvirt/procedures";
import { connected } from "./fake-daemon";

const PING = 1;
const PONG = 2;
const isKeepalive = (procedure: number) => (frame: Frame) =>
  frame.program === Program.KEEPALIVE && frame.procedure === procedure;

describe("keepalive", () => {
  it("answers every ping with a pong as libvirt lays it out", async () => {
    const { daemon, client } = await connected();
    daemon.keepalive(PING);
    const pong = await daemon.next(isKeepalive(PONG));
    assert.deepEqual([pong.type, pong.serial, pong.status, pong.payload.length], [2, 0, 0, 0]);
    await client.close();
  });

  it("pings a silent daemon, and lives on while that answers", async () => {
    const { daemon, client } = await connected({ keepaliveIntervalMs: 10, keepaliveLimitMs: 30 });
    const pings = () => daemon.received.filter(isKeepalive(PING)).length;
    while (pings() < 8) {
      const seen = pings();
      await daemon.next(() => pings() > seen);
      daemon.keepalive(PONG);
    }
    assert.equal(client.closed, false);
    await client.close();
  });

  it("closes the connection to a daemon that gives no sign of life", async () => {
    const { daemon, client } = await connected({ keepaliveIntervalMs: 10, keepaliveLimitMs: 50 });
    await assert.rejects(client.connectGetHostname(), LibvirtClosedError);
    assert.ok(daemon.received.some(isKeepalive(PING)));
    assert.equal(client.closed, true);
  });

  it("does not take a busy event loop for a dead daemon", async () => {
    const { daemon, client } = await connected({ keepaliveIntervalMs: 10, keepaliveLimitMs: 50 });
    daemon.on(procedures.connectGetHostname, (call) =>
      daemon.reply(call, procedures.connectGetHostname, { hostname: "host" }),
    );
    const busyUntil = performance.now() + 200;
    while (performance.now() < busyUntil);
    assert.equal(await client.connectGetHostname(), "host");
    await client.close();
  });
});
