import assert from "node:assert/strict";
import { type DomainSpec, renderDomain } from "@egress-proxies/providers/kvm/domain-xml";
import { parseOwnerRecord, renderOwnerRecord } from "@egress-proxies/providers/kvm/metadata";
import { parseXml } from "@egress-proxies/providers/kvm/xml";
import fc from "fast-check";

const spec: DomainSpec = {
  record: {
    project: "egress-proxies",
    stack: "dev",
    name: "dev-crawl-1",
    entry: "lab",
    specHash: "0123abcd",
  },
  uuid: "12345678-1234-8234-8234-123456789abc",
  mac: "52:54:00:11:22:33",
  virtType: "qemu",
  firmware: "uefi",
  vcpus: 2,
  memoryMiB: 512,
  diskPath: "/var/lib/libvirt/images/dev-crawl-1.qcow2",
  seedPath: "/var/lib/libvirt/images/dev-crawl-1-seed.iso",
  network: "default",
};

function element(xml: string, name: string) {
  return Array.from(parseXml(xml).getElementsByTagName(name));
}

describe("domain XML", () => {
  it("asks libvirt to choose the firmware, without secure boot and without an NVRAM path", () => {
    const xml = renderDomain(spec);
    assert.equal(element(xml, "os")[0]!.getAttribute("firmware"), "efi");
    assert.equal(element(xml, "feature")[0]!.getAttribute("enabled"), "no");
    assert.equal(element(xml, "nvram").length, 0);
    assert.equal(element(xml, "loader").length, 0);
  });

  it("has no firmware to choose under bios", () => {
    assert.equal(
      element(renderDomain({ ...spec, firmware: "bios" }), "os")[0]!.getAttribute("firmware"),
      null,
    );
  });

  it("passes the host's CPU through only where KVM runs it", () => {
    assert.equal(element(renderDomain(spec), "cpu").length, 0);
    const [cpu] = element(renderDomain({ ...spec, virtType: "kvm" }), "cpu");
    assert.equal(cpu!.getAttribute("mode"), "host-passthrough");
  });

  it("gives disks by path, the seed read-only, both on virtio", () => {
    const disks = element(renderDomain(spec), "disk");
    assert.deepEqual(
      disks.map((disk) => disk.getAttribute("type")),
      ["file", "file"],
    );
    assert.deepEqual(
      element(renderDomain(spec), "target")
        .slice(0, 2)
        .map((target) => target.getAttribute("bus")),
      ["virtio", "virtio"],
    );
    assert.equal(disks[1]!.getElementsByTagName("readonly").length, 1);
    assert.equal(disks[0]!.getElementsByTagName("readonly").length, 0);
  });

  it("carries the owner record through any text", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" }).filter((value) => !/[\s\p{Cc}]/u.test(value));
    fc.assert(
      fc.property(
        fc.record(
          { project: text, stack: text, name: text, entry: text, specHash: text },
          { noNullPrototype: true },
        ),
        (record) => {
          assert.deepEqual(parseOwnerRecord(renderOwnerRecord(record)), record);
        },
      ),
    );
  });

  it("takes an incomplete record for none", () => {
    assert.equal(
      parseOwnerRecord('<m:machine xmlns:m="urn:egress-proxies:machine:1" project="p"/>'),
      undefined,
    );
    assert.equal(parseOwnerRecord("<other/>"), undefined);
  });

  it("cannot be broken out of by a network's name", () => {
    const xml = renderDomain({ ...spec, network: `x'/><evil a="&` });
    assert.equal(element(xml, "evil").length, 0);
    assert.throws(() => renderDomain({ ...spec, network: "a\u0000b" }), RangeError);
  });
});
