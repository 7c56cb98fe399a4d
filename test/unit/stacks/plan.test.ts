import assert from "node:assert/strict";
import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import { parseConfig } from "../../../stacks/config/parse";
import { listing } from "../../../stacks/config/problem";
import type { RawConfig } from "../../../stacks/config/rules/rule";
import { type PlanContext, plan } from "../../../stacks/plan/plan";
import type { ExternalProxy, ManagedProxy, PlannedProxy } from "../../../stacks/plan/planned";
import { context, host, pool, sample } from "./sample";

function allPlanned(raw: RawConfig, more: Partial<PlanContext> = {}): PlannedProxy[] {
  const result = parseConfig(raw, context);
  if ("problems" in result) assert.fail(listing(result.problems));
  return plan(result.config, { ...context, previous: {}, files: {}, ...more }).flatMap(
    ({ proxies }) => proxies,
  );
}

function planned(raw: RawConfig, more: Partial<PlanContext> = {}): ManagedProxy[] {
  return allPlanned(raw, more).filter((proxy) => proxy.mode === "Managed");
}

describe("plan", () => {
  it("makes of one member all that its machine and its check need, and nothing else", () => {
    const squid = {
      allowedClients: ["192.0.2.0/24", "198.51.100.7"],
      allowedDestinations: ["10.0.0.1:8204"],
    };
    const raw = sample({ crawl: pool({ size: 1, cloudInit: { squid }, labels: { team: "x" } }) }, [
      host("lab1", { zone: "east", maxMachines: 3, user: "root", virtType: "qemu" }),
    ]);
    assert.deepEqual(planned(raw), [
      {
        mode: "Managed",
        name: "dev-crawl-1",
        pool: "crawl",
        member: "1",
        provider: "lab",
        host: "lab1",
        port: 3128,
        maxLeases: 5,
        labels: { team: "x" },
        machine: {
          type: "kvm",
          owner: { project: "egress-proxies", stack: "dev", name: "dev-crawl-1" },
          entry: "lab",
          host: {
            name: "lab1",
            address: "lab1.example.org",
            user: "root",
            virtType: "qemu",
            pool: "default",
            network: "default",
          },
          image: { key: "debian-12", url: "images/debian-12.qcow2", sha256: "images/SHA256SUMS" },
          vcpus: 1,
          memoryMiB: 512,
          diskGiB: 8,
          firmware: "uefi",
          userData: renderProxyCloudConfig({ port: 3128, visibleHostname: "dev-crawl-1", ...squid }),
          installGuestAgent: true,
          wait: "address",
          bootTimeoutSeconds: 600,
        },
        check: {
          name: "dev-crawl-1",
          port: 3128,
          target: { url: "http://cp.cloudflare.com/generate_204", expectedStatus: 204 },
          allowedClients: ["192.0.2.0/24", "198.51.100.7/32"],
          wait: "ready",
          intervalSeconds: 5,
          timeoutSeconds: 10,
          failureThreshold: 3,
          recoveryThreshold: 2,
          waitTimeoutSeconds: 600,
        },
      },
    ]);
  });

  it("makes of a kvm2 entry the same as of a kvm entry, but for the type", () => {
    const raw = sample({ crawl: pool({ size: 1 }) });
    const [one] = planned(raw);
    const [two] = planned({ ...raw, providers: { lab: { ...raw.providers.lab, type: "kvm2" } } });
    assert.deepEqual(two, { ...one, machine: { ...one!.machine, type: "kvm2" } });
  });

  it("makes of an external member only its check", () => {
    const members = {
      a: { endpoint: { host: "192.0.2.9", port: 8080 }, maxLeases: 1, labels: { tier: "2" } },
    };
    const out = { mode: "External", members, labels: { team: "x" }, wait: "started" };
    const { crawl } = { crawl: pool({ size: 1 }) };
    assert.deepEqual(
      allPlanned(sample({ crawl, out })).filter(({ mode }) => mode === "External"),
      [
        {
          mode: "External",
          name: "dev-out-a",
          pool: "out",
          member: "a",
          provider: "",
          host: "",
          port: 8080,
          maxLeases: 1,
          labels: { team: "x", tier: "2" },
          address: "192.0.2.9",
          check: {
            name: "dev-out-a",
            port: 8080,
            target: { url: "http://cp.cloudflare.com/generate_204", expectedStatus: 204 },
            allowedClients: [],
            wait: "none",
            intervalSeconds: 5,
            timeoutSeconds: 10,
            failureThreshold: 3,
            recoveryThreshold: 2,
            waitTimeoutSeconds: 600,
          },
        } satisfies ExternalProxy,
      ],
    );
  });

  it("names the members of a size 1, 2, 3, in this order beyond ten", () => {
    const members = planned(sample({ crawl: pool({ size: 11 }) })).map(({ member }) => member);
    assert.deepEqual(members, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
  });

  it("waits for nothing with wait: started", () => {
    const [proxy] = planned(sample({ crawl: pool({ size: 1, wait: "started" }) }));
    assert.equal(proxy?.machine.wait, "started");
    assert.equal(proxy?.check.wait, "none");
  });

  it("lets a member override port, leases, placement, cloudInit and labels", () => {
    const members = {
      a: null,
      b: {
        port: 8080,
        maxLeases: 0,
        labels: { tier: "2" },
        placement: { zone: "west", machineType: "big" },
        cloudInit: {
          inline: "#cloud-config\n",
          vendorData: "v",
          networkConfig: "n",
          installGuestAgent: false,
        },
      },
    };
    const { providers, pools } = sample(
      {
        crawl: pool({
          members,
          labels: { team: "x", tier: "1" },
          placement: { image: "debian-12", host: "e" },
        }),
      },
      [host("e", { zone: "east" }), host("w", { zone: "west" })],
    );
    const machineTypes = { big: { vcpus: 4, memoryMiB: 4096, diskGiB: 20, firmware: "bios" } };
    const [a, b] = planned({ providers: { lab: { ...providers.lab, machineTypes } }, pools });
    assert.deepEqual([a?.host, a?.port, a?.maxLeases, a?.labels], ["e", 3128, 5, { team: "x", tier: "1" }]);
    assert.deepEqual([b?.host, b?.port, b?.maxLeases, b?.labels], ["w", 8080, 0, { team: "x", tier: "2" }]);
    assert.equal(b?.check.port, 8080);
    assert.deepEqual(b?.check.allowedClients, []);
    const { vcpus, memoryMiB, diskGiB, firmware, userData, vendorData, networkConfig, installGuestAgent } =
      b!.machine;
    assert.deepEqual(
      { vcpus, memoryMiB, diskGiB, firmware, userData, vendorData, networkConfig, installGuestAgent },
      {
        ...machineTypes.big,
        userData: "#cloud-config\n",
        vendorData: "v",
        networkConfig: "n",
        installGuestAgent: false,
      },
    );
  });

  it("takes a file's content as it is", () => {
    const raw = sample({ crawl: pool({ size: 1, cloudInit: { file: "squid.yaml" } }) });
    const content = "\uFEFF## template: jinja\r\n";
    assert.equal(planned(raw, { files: { "squid.yaml": content } })[0]?.machine.userData, content);
  });

  it("takes the user-data that secretRef names, for as many proxies as like", () => {
    const raw = sample({
      crawl: pool({ size: 2, cloudInit: { secretRef: "shared" } }),
      shop: pool({ members: { a: { cloudInit: { secretRef: "own" } } }, cloudInit: { secretRef: "shared" } }),
    });
    const cloudInit = { shared: "#cloud-config\n# shared\n", own: "#cloud-config\n# own\n" };
    assert.deepEqual(
      planned({ ...raw, cloudInit }).map(({ machine }) => machine.userData),
      [cloudInit.shared, cloudInit.shared, cloudInit.own],
    );
  });

  it("comes to the same whatever the order of keys", () => {
    const members = { "10": null, "9": null, b: null, a: { port: 8080 } };
    const reversed = (value: object) => Object.fromEntries(Object.entries(value).reverse());
    const hosts = [host("h1"), host("h2"), host("h3")];
    const pools = { shop: pool({ size: 2 }), crawl: pool({ members }) };
    const turned = reversed({
      shop: reversed(pools.shop),
      crawl: reversed({ ...pools.crawl, members: reversed(members) }),
    });
    assert.equal(
      JSON.stringify(planned(sample(turned, hosts))),
      JSON.stringify(planned(sample(pools, hosts))),
    );
  });

  it("spreads over the hosts and leaves members where they were", () => {
    const hosts = [host("h1"), host("h2")];
    const hostsOf = (proxies: ManagedProxy[]) =>
      Object.fromEntries(proxies.map(({ name, host: at }) => [name, at]));
    const before = hostsOf(
      planned(sample({ crawl: pool({ members: { a: null, b: null, c: null } }) }, hosts)),
    );
    assert.deepEqual(before, { "dev-crawl-a": "h1", "dev-crawl-b": "h2", "dev-crawl-c": "h1" });
    const after = planned(
      sample({ crawl: pool({ members: { b: null, c: null, d: null } }) }, [host("h0"), ...hosts]),
      {
        previous: before,
      },
    );
    assert.deepEqual(hostsOf(after), { "dev-crawl-b": "h2", "dev-crawl-c": "h1", "dev-crawl-d": "h0" });
    assert.equal(after[0]?.machine.host.name, "h2");
  });
});
