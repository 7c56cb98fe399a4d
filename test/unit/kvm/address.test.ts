import assert from "node:assert/strict";
import { isRoutableIpv4, leasedAddress, leaseExpiry } from "@egress-proxies/providers/kvm/address";
import type { DhcpLease } from "@egress-proxies/providers/libvirt/index";

const mac = "52:54:00:aa:bb:cc";
const lease = (ipaddr: string, expiry: bigint, its = mac): DhcpLease => ({
  iface: "virbr0",
  expiry,
  type: 0,
  mac: its,
  ipaddr,
  prefix: 24,
});

describe("the address of a machine", () => {
  it("is one that others can reach", () => {
    for (const no of [
      "127.0.0.1",
      "169.254.1.1",
      "0.0.0.0",
      "224.0.0.1",
      "255.255.255.255",
      "fe80::1",
      "1.2.3",
      "",
    ]) {
      assert.equal(isRoutableIpv4(no), false, no);
    }
    for (const yes of ["192.168.1.2", "10.0.0.1", "203.0.113.9"])
      assert.equal(isRoutableIpv4(yes), true, yes);
  });

  it("is that of the youngest lease of our MAC, whatever its case", () => {
    const leases = [
      lease("192.168.1.2", 10n),
      lease("192.168.1.3", 20n, mac.toUpperCase()),
      lease("192.168.1.4", 30n, "52:54:00:00:00:01"),
    ];
    assert.equal(leasedAddress(leases, mac), "192.168.1.3");
  });

  it("is not that of a lease from before the start", () => {
    const old = [lease("192.168.1.2", 10n)];
    const before = leaseExpiry(old, mac);
    assert.equal(leasedAddress(old, mac, before), undefined);
    assert.equal(leasedAddress([lease("192.168.1.5", 11n)], mac, before), "192.168.1.5");
  });

  it("takes a lease that never ends", () => {
    assert.equal(leasedAddress([lease("192.168.1.2", 0n)], mac, 10n), "192.168.1.2");
  });
});
