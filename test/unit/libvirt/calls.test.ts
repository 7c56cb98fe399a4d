import assert from "node:assert/strict";
import {
  LibvirtClosedError,
  LibvirtError,
  LibvirtProtocolError,
  LibvirtTimeoutError,
} from "@egress-proxies/providers/libvirt/errors";
import { MessageType, Status } from "@egress-proxies/providers/libvirt/frame";
import { procedures } from "@egress-proxies/providers/libvirt/procedures";
import type { CallRecord } from "@egress-proxies/providers/libvirt/types";
import { connected, DOMAIN, decode, type FakeDaemon } from "./fake-daemon";

const { domainLookupByName, domainGetXMLDesc, connectGetHostname } = procedures;

function wantedName(daemon: FakeDaemon, at: number): string {
  return decode(domainLookupByName.args, daemon.calls(domainLookupByName)[at]!.payload).name;
}

async function lookups(daemon: FakeDaemon, count: number): Promise<void> {
  await daemon.next(() => daemon.calls(domainLookupByName).length >= count);
}

describe("calls", () => {
  it("match their replies by serial, in whatever order they come", async () => {
    const { daemon, client } = await connected();
    const names = ["a", "b", "c"];
    const answers = Promise.all(names.map((name) => client.domainLookupByName(name)));
    await lookups(daemon, 3);
    for (const call of [...daemon.calls(domainLookupByName)].reverse()) {
      const { name } = decode(domainLookupByName.args, call.payload);
      daemon.reply(call, domainLookupByName, { domain: { ...DOMAIN, name } });
    }
    assert.deepEqual(
      (await answers).map(({ name }) => name),
      names,
    );
    await client.close();
  });

  it("reject with the daemon's error in all its parts", async () => {
    const { daemon, client } = await connected();
    daemon.on(domainLookupByName, (call) => daemon.replyError(call, 42, "Domain not found"));
    await assert.rejects(client.domainLookupByName("web"), (error) => {
      assert.ok(error instanceof LibvirtError);
      assert.deepEqual(
        [error.code, error.domain, error.level, error.rpc],
        [42, 10, 2, "virDomainLookupByName"],
      );
      assert.match(error.message, /virDomainLookupByName: Domain not found/);
      return true;
    });
    assert.equal(client.closed, false);
    await client.close();
  });

  it("are never more than four on the wire, and take turns in order", async () => {
    const { daemon, client } = await connected();
    const names = Array.from({ length: 10 }, (_, at) => `d${at}`);
    const answers = Promise.all(names.map((name) => client.domainLookupByName(name)));
    for (let answered = 0; answered < names.length; answered++) {
      await lookups(daemon, Math.min(answered + 4, names.length));
      assert.ok(daemon.calls(domainLookupByName).length <= answered + 4);
      assert.equal(wantedName(daemon, answered), names[answered]);
      daemon.reply(daemon.calls(domainLookupByName)[answered]!, domainLookupByName, { domain: DOMAIN });
    }
    await answers;
    await client.close();
  });

  it("time out one by one: the late reply is dropped and the connection goes on", async () => {
    const { daemon, client } = await connected({ callTimeoutMs: 20 });
    await assert.rejects(client.domainLookupByName("slow"), (error) => {
      assert.ok(error instanceof LibvirtTimeoutError);
      assert.deepEqual([error.rpc, error.timeoutMs], ["virDomainLookupByName", 20]);
      return true;
    });
    daemon.reply(await daemon.call(domainLookupByName), domainLookupByName, { domain: DOMAIN });
    daemon.on(connectGetHostname, (call) => daemon.reply(call, connectGetHostname, { hostname: "host" }));
    assert.equal(await client.connectGetHostname(), "host");
    await client.close();
  });

  it("may have a deadline of their own", async () => {
    const { client } = await connected();
    await assert.rejects(
      client.domainDestroyFlags(DOMAIN, 0, { timeoutMs: 10 }),
      (error) => error instanceof LibvirtTimeoutError && error.timeoutMs === 10,
    );
    await client.close();
  });

  it("keep their turn until the daemon answers, since it still works on them", async () => {
    const { daemon, client } = await connected({ maxInFlight: 1 });
    daemon.on(connectGetHostname, (call) => daemon.reply(call, connectGetHostname, { hostname: "host" }));
    await assert.rejects(client.domainDestroyFlags(DOMAIN, 0, { timeoutMs: 10 }), LibvirtTimeoutError);
    const waiting = client.connectGetHostname();
    const destroy = await daemon.call(procedures.domainDestroyFlags);
    assert.equal(daemon.calls(connectGetHostname).length, 0);
    daemon.reply(destroy, procedures.domainDestroyFlags, {});
    assert.equal(await waiting, "host");
    await client.close();
  });

  it("close the connection once none of them is ever answered", async () => {
    const { client } = await connected({ maxInFlight: 2, callTimeoutMs: 20 });
    const unanswered = await Promise.allSettled([1, 2].map(() => client.domainLookupByName("web")));
    assert.ok(unanswered.every(({ status }) => status === "rejected"));
    assert.equal(client.closed, false);
    await assert.rejects(client.connectGetHostname(), LibvirtTimeoutError);
    await assert.rejects(client.connectGetHostname(), LibvirtClosedError);
    assert.equal(client.closed, true);
  });

  it("with arguments that do not fit are refused here, and the connection goes on", async () => {
    const { daemon, client } = await connected();
    await assert.rejects(client.domainLookupByName("web\0"), LibvirtProtocolError);
    await assert.rejects(client.domainLookupByUUID("no uuid"), LibvirtProtocolError);
    await assert.rejects(client.domainGetXMLDesc({ ...DOMAIN, id: 2 ** 31 }), LibvirtProtocolError);
    daemon.on(domainGetXMLDesc, (call) => daemon.reply(call, domainGetXMLDesc, { xml: "<domain/>" }));
    assert.equal(await client.domainGetXMLDesc(DOMAIN), "<domain/>");
    await client.close();
  });

  it("are recorded with what they were about and, in short, what came back", async () => {
    const records: CallRecord[] = [];
    const { daemon, client } = await connected({ onCall: (record) => records.push(record) });
    daemon.on(procedures.domainSetMetadata, (call) => daemon.reply(call, procedures.domainSetMetadata, {}));
    daemon.on(procedures.storageVolLookupByName, (call) => daemon.replyError(call, 50, "no volume"));
    await client.domainSetMetadata(DOMAIN, 2, "<secret/>", "key", "uri", 0);
    const pool = { name: "default", uuid: DOMAIN.uuid };
    await assert.rejects(client.storageVolLookupByName(pool, "base.raw"));
    const [set, lookup] = records.slice(2);
    assert.deepEqual(
      [set?.rpc, set?.identifiers, set?.error],
      ["virDomainSetMetadata", { domain: "web" }, undefined],
    );
    assert.equal(lookup?.error?.code, 50);
    assert.deepEqual(lookup?.identifiers, { pool: "default", name: "base.raw" });
    assert.deepEqual(set?.result, {});
    assert.equal(lookup?.result, undefined);
    assert.ok(records.every(({ durationMs }) => durationMs >= 0));
    await client.close();
  });

  it("are recorded with their XML apart, and never with what an agent is told or answers", async () => {
    const records: CallRecord[] = [];
    const { daemon, client } = await connected({ onCall: (record) => records.push(record) });
    daemon.on(procedures.domainGetXMLDesc, (call) =>
      daemon.reply(call, procedures.domainGetXMLDesc, { xml: "<domain/>" }),
    );
    daemon.on(procedures.connectListAllDomains, (call) =>
      daemon.reply(call, procedures.connectListAllDomains, { domains: [DOMAIN, DOMAIN], count: 2 }),
    );
    daemon.on(procedures.qemuDomainAgentCommand, (call) =>
      daemon.reply(call, procedures.qemuDomainAgentCommand, { result: '{"return":"canary"}' }),
    );
    await client.domainGetXMLDesc(DOMAIN);
    await client.connectListAllDomains();
    await client.qemuDomainAgentCommand(DOMAIN, '{"execute":"canary"}', 5);
    const [xml, list, agent] = records.slice(2);
    assert.deepEqual([xml?.result, xml?.xml], [{ xmlLength: 9 }, { received: "<domain/>" }]);
    assert.equal(list?.result?.domains, 2);
    assert.doesNotMatch(JSON.stringify(agent), /canary/);
    await client.close();
  });
});

describe("a connection that breaks", () => {
  const breaks: [string, (daemon: FakeDaemon) => void, new (...args: never[]) => Error][] = [
    [
      "a reply to a serial that was never used",
      (d) => d.reply({ ...d.received[0]!, serial: 77 }, procedures.authList, { types: [] }),
      LibvirtProtocolError,
    ],
    [
      "a second reply to a call",
      (d) => d.reply(d.received[0]!, procedures.authList, { types: [] }),
      LibvirtProtocolError,
    ],
    [
      "a stream packet that no stream waits for",
      (d) => d.stream({ ...d.received[0]!, serial: 77 }, Status.OK),
      LibvirtProtocolError,
    ],
    ["a length beyond the limit", (d) => d.raw(Buffer.from("ffffffff", "hex")), LibvirtProtocolError],
    ["a message of a type unknown", (d) => d.send({ ...d.received[0]!, type: 9 }), LibvirtProtocolError],
    [
      "a message with descriptors, which nobody asked for",
      (d) => d.send({ ...d.received[0]!, type: 5 }),
      LibvirtProtocolError,
    ],
    ["the end of the transport", (d) => d.end(), LibvirtClosedError],
    [
      "the end in the middle of a frame",
      (d) => {
        d.raw(Buffer.from("0000", "hex"));
        d.end();
      },
      LibvirtClosedError,
    ],
  ];
  for (const [what, doIt, kind] of breaks) {
    it(`on ${what} rejects everything that waits`, async () => {
      const { daemon, client } = await connected({ maxInFlight: 1 });
      let closing: Error | undefined;
      client.onClose((error) => {
        closing = error;
      });
      const onTheWire = client.domainLookupByName("web");
      const inTheQueue = client.connectGetHostname();
      await daemon.call(domainLookupByName);
      doIt(daemon);
      await assert.rejects(onTheWire, kind);
      await assert.rejects(inTheQueue, kind);
      assert.ok(closing instanceof kind);
      assert.equal(client.closed, true);
      assert.equal(daemon.client.destroyed, true);
      await assert.rejects(client.connectGetHostname(), LibvirtClosedError);
    });
  }

  it("on a reply that cannot be read rejects the call with it", async () => {
    const { daemon, client } = await connected();
    daemon.on(connectGetHostname, (call) =>
      daemon.send({ ...call, type: MessageType.REPLY, payload: Buffer.from("000000ff", "hex") }),
    );
    await assert.rejects(client.connectGetHostname(), LibvirtProtocolError);
    assert.equal(client.closed, true);
  });

  it("on a reply with bytes too many, too", async () => {
    const { daemon, client } = await connected();
    daemon.on(procedures.domainResume, (call) =>
      daemon.send({ ...call, type: MessageType.REPLY, payload: Buffer.alloc(4) }),
    );
    await assert.rejects(client.domainResume(DOMAIN), LibvirtProtocolError);
  });

  it("on a reply of another procedure, too", async () => {
    const { daemon, client } = await connected();
    daemon.on(procedures.domainResume, (call) =>
      daemon.send({ ...call, procedure: 1, type: MessageType.REPLY, payload: Buffer.alloc(0) }),
    );
    await assert.rejects(client.domainResume(DOMAIN), LibvirtProtocolError);
  });

  it("gives the transport's error as the cause", async () => {
    const { daemon, client } = await connected();
    const waiting = client.connectGetHostname();
    await daemon.call(connectGetHostname);
    const cause = new Error("ECONNRESET");
    daemon.client.destroy(cause);
    await assert.rejects(waiting, (error) => error instanceof LibvirtClosedError && error.cause === cause);
  });

  it("drops events, which nobody asked for", async () => {
    const { daemon, client } = await connected();
    daemon.send({
      program: 0x20008086,
      procedure: 318,
      type: MessageType.MESSAGE,
      serial: 0,
      status: 0,
      payload: Buffer.alloc(64),
    });
    daemon.on(connectGetHostname, (call) => daemon.reply(call, connectGetHostname, { hostname: "host" }));
    assert.equal(await client.connectGetHostname(), "host");
    await client.close();
  });
});
