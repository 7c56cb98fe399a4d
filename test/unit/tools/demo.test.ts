import assert from "node:assert/strict";
import { demoConfig } from "../../../tools/demo/config";
import { labAddresses, labNumberOf } from "../../../tools/lab/addresses";

const stackFile = (address: string, healthCheck = "") => `
encryptionsalt: v1:abc
config:
  egress:providers:
    lab: { type: kvm, hosts: [{ name: lab1, address: ${address} }] }
  egress:pools:
    crawl:
      provider: lab
      ${healthCheck}
`;

describe("tools: what the demo reads from the stack's config", () => {
  it("sees by the host's address whether it is the lab's, and which lab", () => {
    assert.equal(demoConfig(stackFile("10.77.1.2")).labNumber, 1);
    assert.equal(demoConfig(stackFile("10.77.22.2")).labNumber, 22);
    const own = demoConfig(stackFile("kvm1.example.org"));
    assert.equal(own.labNumber, undefined);
    assert.equal(own.host, "kvm1.example.org");
  });

  it("takes the pool's own check, else the config's default", () => {
    const own = demoConfig(stackFile("10.77.1.2", "healthCheck: { url: 'http://a/b', expectedStatus: 200 }"));
    assert.deepEqual(own.checks.get("crawl"), { url: "http://a/b", expectedStatus: 200 });
    assert.equal(demoConfig(stackFile("10.77.1.2")).checks.get("crawl")?.expectedStatus, 204);
  });

  it("reads a stack without hosts and pools", () => {
    assert.deepEqual(demoConfig("config: {}"), { host: undefined, labNumber: undefined, checks: new Map() });
    assert.deepEqual(demoConfig(""), { host: undefined, labNumber: undefined, checks: new Map() });
  });
});

describe("tools: the lab's addresses", () => {
  it("come from the lab's number and lead back to it", () => {
    for (const number of [1, 20, 150]) assert.equal(labNumberOf(labAddresses(number).host), number);
    for (const address of ["10.77.0.2", "10.77.151.2", "10.77.1.1", "10.77.1.22", "host"]) {
      assert.equal(labNumberOf(address), undefined, address);
    }
  });
});
