import assert from "node:assert/strict";
import { LibvirtClient } from "@egress-proxies/providers/libvirt/client";
import { ErrorCode, LibvirtClosedError, LibvirtError } from "@egress-proxies/providers/libvirt/errors";
import { procedures } from "@egress-proxies/providers/libvirt/procedures";
import { connected, decode, FakeDaemon } from "./fake-daemon";

const { authList, authPolkit, connectOpen, connectClose } = procedures;

describe("opening and closing libvirt", () => {
  it("asks for the ways of authentication, then opens qemu:///system", async () => {
    const { daemon, client } = await connected();
    assert.deepEqual(
      daemon.received.map(({ procedure }) => procedure),
      [authList.number, connectOpen.number],
    );
    const open = decode(connectOpen.args, daemon.received[1]!.payload);
    assert.deepEqual(open, { name: "qemu:///system", flags: 0 });
    await client.close();
  });

  it("authenticates by polkit where the daemon offers it", async () => {
    const daemon = new FakeDaemon();
    daemon.on(authList, (call) => daemon.reply(call, authList, { types: [2] }));
    daemon.on(authPolkit, (call) => daemon.reply(call, authPolkit, { complete: 1 }));
    const client = await LibvirtClient.open(daemon.client, { uri: "qemu:///session" });
    assert.deepEqual(
      daemon.received.map(({ procedure }) => procedure),
      [authList.number, authPolkit.number, connectOpen.number],
    );
    await client.close();
  });

  it("rejects with polkit's refusal and closes the transport", async () => {
    const daemon = new FakeDaemon();
    daemon.on(authList, (call) => daemon.reply(call, authList, { types: [2] }));
    daemon.on(authPolkit, (call) => daemon.replyError(call, ErrorCode.AUTH_UNAVAILABLE));
    await assert.rejects(
      LibvirtClient.open(daemon.client),
      (error) => error instanceof LibvirtError && error.code === ErrorCode.AUTH_UNAVAILABLE,
    );
    assert.equal(daemon.client.destroyed, true);
  });

  it("rejects where the daemon asks for SASL only", async () => {
    const daemon = new FakeDaemon();
    daemon.on(authList, (call) => daemon.reply(call, authList, { types: [1] }));
    await assert.rejects(
      LibvirtClient.open(daemon.client),
      (error) => error instanceof LibvirtError && error.code === ErrorCode.AUTH_UNAVAILABLE,
    );
  });

  it("says goodbye, then is closed without an error", async () => {
    const { daemon, client } = await connected();
    const closings: (Error | undefined)[] = [];
    client.onClose((error) => closings.push(error));
    await client.close();
    await client.close();
    client.onClose((error) => closings.push(error));
    assert.equal(daemon.calls(connectClose).length, 1);
    assert.deepEqual(closings, [undefined, undefined]);
    assert.equal(client.closed, true);
    await assert.rejects(client.connectGetHostname(), LibvirtClosedError);
  });

  it("closes even where the daemon takes no goodbye", async () => {
    const { daemon, client } = await connected();
    daemon.on(connectClose, () => daemon.end());
    await client.close();
    assert.equal(client.closed, true);
    assert.equal(daemon.client.destroyed, true);
  });
});
