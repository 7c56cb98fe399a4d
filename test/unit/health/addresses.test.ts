import { strict as assert } from "node:assert";
import { isWithin, outsiders, parseCidr } from "@egress-proxies/providers/health/addresses";

describe("CIDRs", () => {
  it("takes IPv4 and IPv6 with a prefix length, and nothing else", () => {
    for (const good of ["192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32", "::1/128"])
      assert.ok(parseCidr(good), good);
    for (const bad of [
      "192.0.2.1",
      "192.0.2.0/33",
      "2001:db8::/129",
      "192.0.2/24",
      "",
      "/8",
      "a/8",
      "10.0.0.0/-1",
    ]) {
      assert.equal(parseCidr(bad), undefined, bad);
    }
  });

  it("knows what lies within", () => {
    assert.equal(isWithin(["192.0.2.0/24", "2001:db8::/32"], "192.0.2.200"), true);
    assert.equal(isWithin(["192.0.2.0/24", "2001:db8::/32"], "2001:db8:1::5"), true);
    assert.equal(isWithin(["192.0.2.0/24"], "192.0.3.1"), false);
    assert.equal(isWithin(["192.0.2.0/24"], "2001:db8::1"), false);
    assert.equal(isWithin([], "192.0.2.1"), false);
    assert.equal(isWithin(["0.0.0.0/0"], "proxy.example"), false);
  });
});

describe("outsiders", () => {
  const local = [
    { address: "172.17.0.1", interfaceName: "docker0" },
    { address: "192.0.2.10", interfaceName: "eth0" },
    { address: "192.0.2.11", interfaceName: "eth0" },
    { address: "203.0.113.1", interfaceName: "eth0" },
    { address: "2001:db8::10", interfaceName: "eth0" },
  ];

  it("are of the same family, not allowed, and not the address in use; conclusive ones first", () => {
    assert.deepEqual(outsiders(local, "192.0.2.10", ["192.0.2.0/24"]), [
      { address: "203.0.113.1", conclusive: true },
      { address: "172.17.0.1", conclusive: false },
    ]);
  });

  it("are nobody where everybody is allowed, and unknown where nobody is named", () => {
    assert.deepEqual(outsiders(local, "192.0.2.10", ["0.0.0.0/0"]), []);
    assert.deepEqual(outsiders(local, "192.0.2.10", []), []);
  });
});
