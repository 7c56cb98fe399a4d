import assert from "node:assert/strict";
import { checkMachine } from "@egress-proxies/providers/kvm/check";
import { diffMachine } from "@egress-proxies/providers/kvm/diff";
import { kvmSpecHash } from "@egress-proxies/providers/kvm/ensure";
import { type BaseOf, sharedBase } from "@egress-proxies/providers/kvm/naming";
import { outputsOf } from "@egress-proxies/providers/kvm/outputs";
import { entryBase } from "@egress-proxies/providers/kvm2/naming";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";

const inputs: KvmMachineInputs = {
  owner: { project: "egress-proxies", stack: "dev", name: "dev-crawl-1" },
  entry: "lab",
  host: { name: "lab1", address: "192.0.2.1", pool: "default", network: "default" },
  image: { key: "debian-12", url: "https://example.org/a.qcow2", sha256: "00".repeat(32) },
  vcpus: 1,
  memoryMiB: 512,
  diskGiB: 4,
  firmware: "uefi",
  userData: "#cloud-config\n",
  installGuestAgent: true,
  wait: "address",
  bootTimeoutSeconds: 600,
};
const state = outputsOf(inputs, { ip: "192.0.2.9", generation: "1" });

const host = (change: object) => ({ host: { ...inputs.host, ...change } });
const image = (change: object) => ({ image: { ...inputs.image, ...change } });

describe("a machine's diff", () => {
  const cases: [string, Partial<KvmMachineInputs>, string[], boolean][] = [
    ["nothing", {}, [], false],
    ["the wait", { wait: "started", bootTimeoutSeconds: 1 }, [], false],
    ["the host's address", host({ address: "192.0.2.2" }), [], true],
    ["the key file", host({ keyFile: "/k" }), [], true],
    ["the host", host({ name: "lab2" }), ["host"], true],
    ["the pool", host({ pool: "fast" }), ["host"], true],
    ["the network", host({ network: "br0" }), ["host"], true],
    ["the image", image({ key: "debian-13" }), ["image"], true],
    ["the CPUs", { vcpus: 2 }, ["vcpus"], true],
    ["the memory", { memoryMiB: 1024 }, ["memoryMiB"], true],
    ["the disk", { diskGiB: 8 }, ["diskGiB"], true],
    ["the firmware", { firmware: "bios" }, ["firmware"], true],
    ["the user-data", { userData: "#cloud-config\n\n" }, ["userData"], true],
    ["the vendor-data", { vendorData: "#!/bin/sh\n" }, ["vendorData"], true],
    ["the network-config", { networkConfig: "version: 2\n" }, ["networkConfig"], true],
    ["the agent", { installGuestAgent: false }, ["installGuestAgent"], true],
    ["the entry", { entry: "other" }, ["entry"], true],
    ["the owner", { owner: { ...inputs.owner, name: "dev-crawl-2" } }, ["owner"], true],
  ];
  for (const [what, change, replaces, changes] of cases) {
    it(`${replaces.length > 0 ? "replaces" : "keeps"} the machine when ${what} changes`, () => {
      const news = { ...inputs, ...change };
      assert.deepEqual(diffMachine(state, news), { changes, replaces });
      const rebuilt = kvmSpecHash(news) !== kvmSpecHash(inputs);
      const otherPlace = what === "the host" || what === "the owner";
      assert.equal(rebuilt, replaces.length > 0 && !otherPlace, "spec hash and diff agree");
    });
  }

  it("does not depend on the order of keys", () => {
    const { key, url, sha256 } = inputs.image;
    assert.equal(kvmSpecHash({ ...inputs, image: { sha256, url, key } }), kvmSpecHash(inputs));
  });

  it("keeps user-data out of the state", () => {
    const secret = outputsOf({ ...inputs, userData: "canary" }, { ip: "", generation: "" });
    assert.doesNotMatch(JSON.stringify(secret), /canary/);
  });
});

describe("a machine's check", () => {
  const check = (olds: KvmMachineInputs | undefined, news: KvmMachineInputs, baseOf: BaseOf = sharedBase) =>
    checkMachine(olds, news, baseOf);

  it("takes what is fine, and what a preview does not know yet", () => {
    assert.deepEqual(check(undefined, inputs), []);
    const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
    assert.deepEqual(
      check(undefined, { ...inputs, entry: unknown, vcpus: unknown as unknown as number }),
      [],
    );
  });

  it("names every bad identifier and number at once", () => {
    const failures = check(undefined, { ...inputs, entry: "a/b", vcpus: 0, ...host({ name: "" }) });
    assert.deepEqual(
      failures.map(({ property }) => property),
      ["entry", "host.name", "vcpus"],
    );
  });

  it("refuses another url or digest under the same key, and names both", () => {
    for (const change of [{ url: "https://example.org/b.qcow2" }, { sha256: "11".repeat(32) }]) {
      const [failure] = check(inputs, { ...inputs, ...image(change) });
      assert.equal(failure?.property, "image");
      assert.match(failure!.reason, /a\.qcow2.*new key/s);
      assert.ok(failure!.reason.includes(Object.values(change)[0]!));
    }
    // Another base altogether: nothing is there that could be in conflict.
    for (const change of [host({ name: "lab2" }), host({ pool: "fast" })]) {
      assert.deepEqual(check(inputs, { ...inputs, ...image({ sha256: "11".repeat(32) }), ...change }), []);
    }
    assert.deepEqual(check(inputs, { ...inputs, ...image({ key: "b", url: "https://example.org/b" }) }), []);
  });

  it("knows whose a base is: kvm shares it between entries, kvm2 does not", () => {
    const moved = { ...inputs, entry: "other", ...image({ sha256: "11".repeat(32) }) };
    assert.match(check(inputs, moved, sharedBase)[0]!.reason, /^base "debian-12" stands for/);
    assert.deepEqual(check(inputs, moved, entryBase), []);
    const same = { ...moved, entry: inputs.entry };
    assert.match(check(inputs, same, entryBase)[0]!.reason, /^base "debian-12" of entry "lab" stands for/);
  });

  it("shows no credentials of an old or new location", () => {
    const [failure] = check(
      { ...inputs, ...image({ url: "https://user:secret@example.org/a" }) },
      { ...inputs, ...image({ sha256: "https://user:secret@example.org/SUMS" }) },
    );
    assert.doesNotMatch(failure!.reason, /secret/);
  });
});
