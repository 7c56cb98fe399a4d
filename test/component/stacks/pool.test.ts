import assert from "node:assert/strict";
import { output, type Resource, secret } from "@pulumi/pulumi";
import * as egress from "../../../stacks/pool";
import {
  CHECK,
  fakeEngine,
  MACHINE,
  MACHINE2,
  POOL,
  PROXY,
  type Registered,
  resolved,
  secretOf,
  settled,
} from "./engine";

const owner = { project: "egress-proxies", stack: "dev", name: "dev-crawl-1" };
const host = { name: "lab1", address: "192.0.2.10", pool: "default", network: "default" };
const image = { key: "debian-12", url: "debian-12.qcow2", sha256: "SHA256SUMS" };

function proxyArgs(machine: Partial<egress.MachineArgs> = {}): egress.ManagedProxyArgs {
  return {
    mode: "Managed",
    name: "dev-crawl-1",
    pool: "crawl",
    provider: "lab",
    host: "lab1",
    port: 3128,
    maxLeases: 0,
    labels: { team: "x" },
    machine: {
      type: "kvm",
      owner,
      entry: "lab",
      host,
      image,
      vcpus: 1,
      memoryMiB: 512,
      diskGiB: 8,
      firmware: "uefi",
      userData: "#cloud-config\n",
      installGuestAgent: true,
      wait: "address",
      bootTimeoutSeconds: 600,
      ...machine,
    },
    check: {
      name: "dev-crawl-1",
      port: 3128,
      target: { url: "http://example.org/", expectedStatus: 204 },
      allowedClients: ["192.0.2.0/24"],
      wait: "ready",
      waitTimeoutSeconds: 600,
      intervalSeconds: 5,
      timeoutSeconds: 10,
      failureThreshold: 3,
      recoveryThreshold: 2,
    },
  };
}

const only = (registered: Registered[], type: string): Registered => {
  const matching = registered.filter((resource) => resource.type === type);
  assert.equal(matching.length, 1, `${type}: ${matching.length}`);
  return matching[0]!;
};

describe("Proxy", () => {
  it("is a machine and a check, with exactly their inputs", async () => {
    const registered = fakeEngine();
    const endpoint = await resolved(new egress.Proxy("crawl-1", proxyArgs()).endpoint);

    assert.deepEqual(
      registered.map(({ type, name, custom }) => [type, name, custom]),
      [
        [PROXY, "crawl-1", false],
        [MACHINE, "crawl-1-machine", true],
        [CHECK, "crawl-1-check", true],
      ],
    );
    const { type, ...machine } = proxyArgs().machine;
    assert.equal(type, "kvm");
    assert.deepEqual(settled(only(registered, MACHINE).inputs), {
      ...machine,
      userData: secretOf("#cloud-config\n"),
      __provider: 'exports.handler = () => require("@egress-proxies/providers").backends.kvm;',
    });
    assert.deepEqual(settled(only(registered, CHECK).inputs), {
      ...proxyArgs().check,
      host: "192.0.2.1",
      generation: "crawl-1-machine-g1",
      __provider: 'exports.handler = () => require("@egress-proxies/providers").backends.proxyCheck;',
    });
    assert.deepEqual(endpoint, {
      name: "dev-crawl-1",
      pool: "crawl",
      mode: "Managed",
      provider: "lab",
      host: "lab1",
      url: "http://192.0.2.1:3128",
      ip: "192.0.2.1",
      port: 3128,
      maxLeases: 0,
      labels: { team: "x" },
      ready: true,
      reason: "Ready",
    } satisfies egress.Endpoint);
  });

  it("makes secrets of user-data, vendor-data and network-config", async () => {
    const registered = fakeEngine();
    const args = proxyArgs({ userData: "u", vendorData: "v", networkConfig: "n" });
    await resolved(new egress.Proxy("crawl-1", args).endpoint);
    const { userData, vendorData, networkConfig } = only(registered, MACHINE).inputs;
    assert.deepEqual([userData, vendorData, networkConfig], [secretOf("u"), secretOf("v"), secretOf("n")]);
  });

  it("makes a kvm2 machine of the same inputs, each kind an alias of the other", async () => {
    const registered = fakeEngine();
    const aliases: unknown[] = [];
    for (const type of ["kvm", "kvm2"] as const) {
      const proxy = new egress.Proxy(`crawl-${type}`, proxyArgs({ type }), {
        transformations: [
          ({ opts, type: of }) => {
            if (of === MACHINE || of === MACHINE2) aliases.push(opts.aliases);
            return undefined;
          },
        ],
      });
      await resolved(proxy.endpoint);
    }
    const { __provider, ...inputs } = settled(only(registered, MACHINE2).inputs);
    assert.equal(__provider, 'exports.handler = () => require("@egress-proxies/providers").backends.kvm2;');
    const { __provider: _, ...others } = settled(only(registered, MACHINE).inputs);
    assert.deepEqual(inputs, others);
    assert.deepEqual(aliases, [[{ type: MACHINE2 }], [{ type: MACHINE }]]);
  });

  it("takes outputs of other resources, and secrets among them", async () => {
    const registered = fakeEngine();
    const args = proxyArgs({ vcpus: output(4), userData: secret("u") });
    const { port } = await resolved(new egress.Proxy("crawl-1", { ...args, port: output(8080) }).endpoint);
    const { vcpus, userData } = only(registered, MACHINE).inputs;
    assert.deepEqual([vcpus, userData, port], [4, secretOf("u"), 8080]);
  });

  it("is nothing but a check where the proxy is somebody else's", async () => {
    const registered = fakeEngine();
    const { machine, ...common } = proxyArgs();
    const args = { ...common, mode: "External", provider: "", host: "", address: "2001:db8::1" } as const;
    const endpoint = await resolved(new egress.Proxy("out-a", args).endpoint);
    assert.deepEqual(
      registered.map(({ type }) => type),
      [PROXY, CHECK],
    );
    const { host: checked, generation } = only(registered, CHECK).inputs;
    assert.deepEqual([checked, generation], ["2001:db8::1", ""]);
    assert.deepEqual(
      [endpoint.mode, endpoint.url, endpoint.ip, endpoint.ready],
      ["External", "http://[2001:db8::1]:3128", "2001:db8::1", true],
    );
  });

  it("has no URL while the machine has no address", async () => {
    fakeEngine({ "crawl-1-machine": "" });
    const { url, ip } = await resolved(new egress.Proxy("crawl-1", proxyArgs()).endpoint);
    assert.deepEqual([url, ip], ["", ""]);
  });
});

describe("ProxyPool", () => {
  it("holds its members as children, and passes on what they inherit", async () => {
    fakeEngine();
    const seen: { name: string; parent: string | undefined }[] = [];
    const names = new Map<Resource | undefined, string>();
    const pool = new egress.ProxyPool(
      "crawl",
      { members: { a: proxyArgs(), b: proxyArgs() } },
      {
        transformations: [
          ({ resource, name, opts }) => {
            names.set(resource, name);
            seen.push({ name, parent: names.get(opts.parent) });
            return undefined;
          },
        ],
      },
    );
    assert.equal((await resolved(pool.endpoints)).length, 2);
    assert.deepEqual(
      seen.map(({ name, parent }) => [name, parent]),
      [
        ["crawl", undefined],
        ["crawl-a", "crawl"],
        ["crawl-a-machine", "crawl-a"],
        ["crawl-a-check", "crawl-a"],
        ["crawl-b", "crawl"],
        ["crawl-b-machine", "crawl-b"],
        ["crawl-b-check", "crawl-b"],
      ],
    );
  });

  it("may be empty", async () => {
    const registered = fakeEngine();
    const pool = new egress.ProxyPool("crawl", { members: {} });
    assert.deepEqual(await resolved(pool.endpoints), []);
    await resolved(pool.urn);
    assert.deepEqual(
      registered.map(({ type }) => type),
      [POOL],
    );
  });
});
