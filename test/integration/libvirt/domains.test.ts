import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { LibvirtClient } from "@egress-proxies/providers/libvirt/client";
import { ErrorCode } from "@egress-proxies/providers/libvirt/errors";
import {
  DomainAffect,
  DomainCreate,
  DomainInterfaceSource,
  DomainMetadata,
  DomainState,
  DomainStatsType,
  DomainXml,
  ListDomains,
} from "@egress-proxies/providers/libvirt/flags";
import type { Domain } from "@egress-proxies/providers/libvirt/types";
import { code, NETWORK, openLab, removeDomain, uniqueName, until } from "./lab-libvirt";

const URI = "https://example.org/test";

/** A machine that is emulated, has no disk and asks nothing of the host; its firmware finds nothing to boot. */
function domainXml(name: string, uuid: string): string {
  return `<domain type='qemu'>
  <name>${name}</name><uuid>${uuid}</uuid>
  <memory unit='MiB'>32</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='network'><source network='${NETWORK}'/><model type='virtio'/></interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>`;
}

describe("a domain of a real libvirtd", function () {
  this.timeout(60_000);
  const name = uniqueName("domain");
  const uuid = randomUUID();
  let client: LibvirtClient;
  let domain: Domain;

  before(async () => {
    client = await openLab();
  });

  after(async () => {
    if (client === undefined) return;
    await removeDomain(client, name);
    await client.close();
  });

  it("does not exist before it is defined", async () => {
    await assert.rejects(client.domainLookupByName(name), code(ErrorCode.NO_DOMAIN));
    await assert.rejects(client.domainLookupByUUID(uuid), code(ErrorCode.NO_DOMAIN));
  });

  it("is defined, and found by name, by UUID and in the list", async () => {
    domain = await client.domainDefineXML(domainXml(name, uuid));
    assert.deepEqual(domain, { name, uuid, id: -1 });
    assert.deepEqual(await client.domainLookupByName(name), domain);
    assert.deepEqual(await client.domainLookupByUUID(uuid.toUpperCase()), domain);
    assert.ok((await client.connectListAllDomains()).some((other) => other.uuid === uuid));
    assert.ok(
      (await client.connectListAllDomains(ListDomains.INACTIVE)).some((other) => other.uuid === uuid),
    );
    assert.ok(!(await client.connectListAllDomains(ListDomains.ACTIVE)).some((other) => other.uuid === uuid));
  });

  it("is not taken from XML that libvirt cannot use", async () => {
    await assert.rejects(client.domainDefineXML("<domain"), code(ErrorCode.XML_DETAIL));
    await assert.rejects(
      client.domainDefineXML(domainXml(`${name}-other`, "no uuid")),
      code(ErrorCode.INTERNAL_ERROR),
    );
  });

  it("carries metadata: none at first, then what was set, then none again", async () => {
    const get = () => client.domainGetMetadata(domain, DomainMetadata.ELEMENT, URI, DomainAffect.CONFIG);
    const set = (metadata: string | null) =>
      client.domainSetMetadata(domain, DomainMetadata.ELEMENT, metadata, "test", URI, DomainAffect.CONFIG);
    await assert.rejects(get(), code(ErrorCode.NO_DOMAIN_METADATA));
    await set("<owner name='a'/>");
    // libvirt writes the element anew, with quotes of its own.
    assert.equal(await get(), '<owner name="a"/>');
    await set(null);
    await assert.rejects(get(), code(ErrorCode.NO_DOMAIN_METADATA));
    await client.domainSetMetadata(domain, DomainMetadata.TITLE, "a title", null, null, DomainAffect.CONFIG);
    assert.equal(await client.domainGetMetadata(domain, DomainMetadata.TITLE), "a title");
  });

  it("is off, and cannot be ended while it is", async () => {
    assert.equal((await client.domainGetState(domain)).state, DomainState.SHUTOFF);
    await assert.rejects(client.domainDestroyFlags(domain), code(ErrorCode.OPERATION_INVALID));
    await assert.rejects(client.domainShutdown(domain), code(ErrorCode.OPERATION_INVALID));
    await assert.rejects(
      client.domainInterfaceAddresses(domain, DomainInterfaceSource.LEASE),
      code(ErrorCode.OPERATION_INVALID),
    );
  });

  it("starts by itself with the host if that is wanted", async () => {
    await client.domainSetAutostart(domain, true);
    await client.domainSetAutostart(domain, false);
  });

  it("starts paused, resumes, and runs", async () => {
    domain = await client.domainCreateWithFlags(domain, DomainCreate.PAUSED, { timeoutMs: 60_000 });
    assert.ok(domain.id > 0);
    assert.equal((await client.domainGetState(domain)).state, DomainState.PAUSED);
    await client.domainResume(domain);
    assert.equal((await client.domainGetState(domain)).state, DomainState.RUNNING);
    assert.ok((await client.connectListAllDomains(ListDomains.ACTIVE)).some(({ id }) => id === domain.id));
    await assert.rejects(client.domainCreateWithFlags(domain), code(ErrorCode.OPERATION_INVALID));
  });

  it("is described as it runs, and as it is defined", async () => {
    assert.match(await client.domainGetXMLDesc(domain), /<domain type='qemu' id='\d+'>/);
    assert.match(await client.domainGetXMLDesc(domain, DomainXml.INACTIVE), /<domain type='qemu'>/);
  });

  it("has its state and devices in the statistics", async () => {
    const mask =
      DomainStatsType.STATE | DomainStatsType.VCPU | DomainStatsType.INTERFACE | DomainStatsType.BALLOON;
    const stats = await client.connectGetAllDomainStats(mask);
    const own = stats.find((record) => record.domain.uuid === uuid);
    assert.equal(own?.params["state.state"], DomainState.RUNNING);
    assert.equal(own?.params["net.count"], 1);
    assert.equal(typeof own?.params["net.0.rx.bytes"], "bigint");
    assert.equal(own?.params["balloon.maximum"], 32n * 1024n);
  });

  it("has no lease, which is an empty list", async () => {
    assert.deepEqual(await client.domainInterfaceAddresses(domain, DomainInterfaceSource.LEASE), []);
  });

  it("has a guest agent that does not answer", async () => {
    await assert.rejects(
      client.domainInterfaceAddresses(domain, DomainInterfaceSource.AGENT),
      code(ErrorCode.AGENT_UNRESPONSIVE),
    );
    await assert.rejects(
      client.qemuDomainAgentCommand(domain, '{"execute":"guest-ping"}', 1),
      code(ErrorCode.AGENT_UNRESPONSIVE),
    );
  });

  it("takes the wish to shut down, though its firmware does nothing about it", async () => {
    await client.domainShutdown(domain);
  });

  it("is ended, undefined, and gone", async () => {
    await client.domainDestroyFlags(domain, 0, { timeoutMs: 60_000 });
    await until(async () => (await client.domainGetState(domain)).state === DomainState.SHUTOFF);
    await client.domainUndefineFlags(domain, 0);
    await assert.rejects(client.domainLookupByName(name), code(ErrorCode.NO_DOMAIN));
    await assert.rejects(client.domainGetState(domain), code(ErrorCode.NO_DOMAIN));
    await assert.rejects(client.domainUndefineFlags(domain, 0), code(ErrorCode.NO_DOMAIN));
  });
});
