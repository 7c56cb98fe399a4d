import assert from "node:assert/strict";
import { ConfigError } from "../../../stacks/config/error";
import { parseConfig } from "../../../stacks/config/parse";
import { listing, type Problem } from "../../../stacks/config/problem";
import type { RawConfig } from "../../../stacks/config/rules/rule";
import type { Config } from "../../../stacks/config/schema";
import { context, entry, host, pool, sample } from "./sample";

function parsed(raw: RawConfig): Config {
  const result = parseConfig(raw, context);
  if ("problems" in result) assert.fail(listing(result.problems));
  return result.config;
}

function problemsOf(raw: RawConfig, stack = "dev"): Problem[] {
  const result = parseConfig(raw, { ...context, stack });
  return "problems" in result ? result.problems : [];
}

const pathsOf = (problems: Problem[]) => problems.map(({ path }) => path);

const elsewhere = { host: "proxy.example.org", port: 8080 };

/** The one problem of a config with one mistake. */
function onlyProblem(raw: RawConfig, stack?: string): Problem {
  const problems = problemsOf(raw, stack);
  assert.equal(problems.length, 1, listing(problems));
  return problems[0]!;
}

describe("parseConfig", () => {
  it("fills every default", () => {
    const { providers, pools } = parsed(sample());
    assert.deepEqual(providers.lab, {
      type: "kvm",
      hosts: [{ name: "lab1", address: "lab1.example.org", pool: "default", network: "default" }],
      images: { "debian-12": { url: "images/debian-12.qcow2", sha256: "images/SHA256SUMS" } },
      machineTypes: {},
    });
    assert.deepEqual(pools.crawl, {
      mode: "Managed",
      provider: "lab",
      size: 2,
      port: 3128,
      maxLeases: 5,
      maxUnavailable: 1,
      placement: { machineType: "small", image: "debian-12" },
      cloudInit: {
        squid: { allowedClients: ["192.0.2.0/24"], allowedDestinations: [] },
        installGuestAgent: true,
      },
      healthCheck: {
        url: "http://cp.cloudflare.com/generate_204",
        expectedStatus: 204,
        intervalSeconds: 5,
        timeoutSeconds: 10,
        failureThreshold: 3,
        recoveryThreshold: 2,
        waitTimeoutSeconds: 600,
      },
      wait: "ready",
      bootTimeoutSeconds: 600,
      labels: {},
    });
  });

  it("keeps an explicit 0 of maxLeases, for the pool and for a member", () => {
    const { pools } = parsed(
      sample({
        crawl: pool({ maxLeases: 0, members: { a: { maxLeases: 0 } } }),
        out: { mode: "External", maxLeases: 0, members: { a: { endpoint: elsewhere, maxLeases: 0 } } },
      }),
    );
    for (const { maxLeases, members } of [pools.crawl!, pools.out!])
      assert.deepEqual([maxLeases, members?.a?.maxLeases], [0, 0]);
  });

  it("takes a member that is written as a bare key", () => {
    assert.deepEqual(parsed(sample({ crawl: pool({ members: { one: null } }) })).pools.crawl?.members, {
      one: {},
    });
  });

  it("asks for both maps where there is no config at all", () => {
    const problems = problemsOf({ providers: undefined, pools: undefined });
    assert.deepEqual(pathsOf(problems), ["egress:pools", "egress:providers"]);
    assert.match(problems[0]!.message, /required/);
  });

  it("reports twenty mistakes at once, each at its place", () => {
    const raw = {
      providers: {
        lab: entry(
          [
            host("lab1", { address: "root@192.0.2.1", usr: "root", port: "22" }),
            host("lab1", { virtType: "kmv", maxMachines: -1 }),
          ],
          {
            images: { "debian 12": { url: "ftp://example.org/x", sha256: "abc".repeat(12) } },
            machineTypes: { small: { vcpus: 0, memoryMiB: 512.5 } },
          },
        ),
        other: { type: "kvn" },
      },
      pools: {
        crawl: pool({ provider: "lob", size: -1, cloudInit: { inline: "", file: "x" } }),
        shop: {
          ...pool({ size: 1, members: {}, wait: "redy", labels: { a: 1 } }),
          placement: { image: "debian-11", machineType: "smal" },
          healthCheck: { url: "telnet://example.org" },
        },
      },
      cloudinit: {},
    };
    assert.deepEqual(pathsOf(problemsOf(raw)), [
      "egress:cloudinit",
      "egress:pools.crawl.cloudInit",
      "egress:pools.crawl.provider",
      "egress:pools.crawl.size",
      "egress:pools.shop",
      "egress:pools.shop.healthCheck.url",
      "egress:pools.shop.labels.a",
      "egress:pools.shop.placement.image",
      "egress:pools.shop.placement.machineType",
      "egress:pools.shop.wait",
      "egress:providers.lab.hosts[0].address",
      "egress:providers.lab.hosts[0].port",
      "egress:providers.lab.hosts[0].usr",
      "egress:providers.lab.hosts[1].maxMachines",
      "egress:providers.lab.hosts[1].name",
      "egress:providers.lab.hosts[1].virtType",
      'egress:providers.lab.images["debian 12"]',
      'egress:providers.lab.images["debian 12"].sha256',
      'egress:providers.lab.images["debian 12"].url',
      "egress:providers.lab.machineTypes.small.diskGiB",
      "egress:providers.lab.machineTypes.small.memoryMiB",
      "egress:providers.lab.machineTypes.small.vcpus",
      "egress:providers.other.type",
    ]);
  });

  it("says value, place and remedy on two lines a problem", () => {
    const problem = onlyProblem(sample({ crawl: pool({ size: 1, port: 70000 }) }));
    assert.deepEqual(problem, {
      path: "egress:pools.crawl.port",
      message: "must be at most 65535",
      found: "70000",
      remedy:
        "Write a whole number from 1 to 65535. The port that the proxy listens on. A change makes a new machine " +
        "where `cloudInit.squid` writes it.",
    });
    assert.match(
      new ConfigError([problem]).message,
      /^The config has 1 problem; .*\n {2}egress:pools\.crawl\.port: must be at most 65535 \(found 70000\)\n {4}Write/,
    );
  });

  const unknownKeys: [string, RawConfig, string, string][] = [
    [
      "of a pool",
      sample({ crawl: pool({ size: 1, maxLease: 3 }) }),
      "egress:pools.crawl.maxLease",
      "maxLeases",
    ],
    [
      "of a placement",
      sample({ crawl: { ...pool({ size: 1 }), placement: { image: "debian-12", machinetype: "small" } } }),
      "egress:pools.crawl.placement.machinetype",
      "machineType",
    ],
    [
      "of a host",
      sample(undefined, [host("a", { keyfile: "k" })]),
      "egress:providers.lab.hosts[0].keyfile",
      "keyFile",
    ],
    ["of the namespace", { ...sample(), pool: {} }, "egress:pool", "pools"],
  ];
  for (const [where, raw, path, suggestion] of unknownKeys) {
    it(`suggests the nearest option for an unknown key ${where}`, () => {
      const problem = onlyProblem(raw);
      assert.equal(problem.path, path);
      assert.equal(problem.remedy, `Did you mean ${suggestion}?`);
    });
  }

  it("tells a number in quotes from other texts", () => {
    assert.match(onlyProblem(sample({ crawl: pool({ size: "2" }) })).remedy, /^Take the quotes away/);
    assert.match(
      onlyProblem(sample({ crawl: pool({ size: 1, labels: { a: 1 } }) })).remedy,
      /^Put it into quotes/,
    );
  });
});

describe("parseConfig and secrets", () => {
  const CANARY = "canary-5f0c1d";
  const secretPlaces: [string, unknown][] = [
    ["inline of the wrong type", { cloudInit: { inline: [CANARY] } }],
    ["inline beside file", { cloudInit: { inline: CANARY, file: "x" } }],
    ["user-data as cloudInit itself", { cloudInit: `#cloud-config ${CANARY}` }],
    ["a misspelt inline", { cloudInit: { inlin: CANARY } }],
    ["vendorData of the wrong type", { cloudInit: { inline: "", vendorData: { a: CANARY } } }],
    ["networkConfig of the wrong type", { cloudInit: { inline: "", networkConfig: { a: CANARY } } }],
    ["user-data as squid", { cloudInit: { squid: CANARY } }],
    ["a URL's password", { healthCheck: { url: `http://user:${CANARY}@example.org/` } }],
  ];
  for (const [name, change] of secretPlaces) {
    it(`does not show ${name}`, () => {
      const problems = problemsOf(sample({ crawl: pool({ size: 1, ...(change as object) }) }));
      assert.notEqual(problems.length, 0);
      assert.ok(!listing(problems).includes(CANARY), listing(problems));
    });
  }

  it("does not show a passphrase or a key that is pasted where a name or path belongs", () => {
    const pasted = host("lab1", {
      passphraseEnv: `${CANARY} phrase`,
      keyFile: `-----BEGIN KEY-----\n${CANARY}\n`,
    });
    const problems = problemsOf(sample(undefined, [pasted]));
    assert.equal(problems.length, 2);
    assert.ok(!listing(problems).includes(CANARY), listing(problems));
  });
});

describe("parseConfig and modes", () => {
  const external = (more: object = {}) =>
    sample({ out: { mode: "External", members: { a: { endpoint: elsewhere } }, ...more } });

  it("takes an external pool that says nothing but where its members are", () => {
    const { out } = parsed(external()).pools;
    assert.deepEqual(
      [out?.mode, out?.maxLeases, out?.wait, out?.healthCheck.expectedStatus, out?.members],
      ["External", 5, "ready", 204, { a: { endpoint: elsewhere } }],
    );
  });

  for (const [option, value] of Object.entries({
    provider: "lab",
    size: 2,
    port: 3128,
    placement: { image: "debian-12" },
    cloudInit: { inline: "x" },
    bootTimeoutSeconds: 60,
  })) {
    it(`forbids an external pool's ${option}, and says whose it is`, () => {
      const problem = onlyProblem(external({ [option]: value }));
      assert.equal(problem.path, `egress:pools.out.${option}`);
      assert.equal(problem.message, "is an option of mode: Managed only");
      assert.match(problem.remedy, /^Take it out, or set mode: Managed\./);
    });
  }

  it("forbids a managed member's endpoint, and an external member's placement", () => {
    const managed = onlyProblem(sample({ crawl: pool({ members: { a: { endpoint: elsewhere } } }) }));
    assert.equal(managed.path, "egress:pools.crawl.members.a.endpoint");
    assert.equal(managed.message, "is an option of mode: External only");
    const members = { a: { endpoint: elsewhere, placement: { host: "lab1" } } };
    assert.equal(onlyProblem(external({ members })).message, "is an option of mode: Managed only");
  });

  it("wants host and port of an endpoint, and members of an external pool", () => {
    assert.deepEqual(pathsOf(problemsOf(external({ members: { a: { endpoint: {} }, b: {} } }))), [
      "egress:pools.out.members.a.endpoint.host",
      "egress:pools.out.members.a.endpoint.port",
      "egress:pools.out.members.b.endpoint",
    ]);
    assert.equal(onlyProblem(external({ members: undefined })).path, "egress:pools.out.members");
    const url = { host: "http://proxy.example.org", port: 8080 };
    assert.equal(
      onlyProblem(external({ members: { a: { endpoint: url } } })).path,
      "egress:pools.out.members.a.endpoint.host",
    );
  });

  it("wants a provider of a managed pool, and a mode that there is", () => {
    const { provider, ...without } = pool({ size: 1 });
    assert.equal(onlyProblem(sample({ crawl: without })).path, "egress:pools.crawl.provider");
    const problem = onlyProblem(external({ mode: "external" }));
    assert.deepEqual([problem.path, problem.remedy], ["egress:pools.out.mode", "Did you mean External?"]);
  });
});

describe("parseConfig and maxUnavailable", () => {
  for (const value of [1, 50, "1%", "25%", "100%"]) {
    it(`takes ${value}`, () => {
      assert.equal(
        parsed(sample({ crawl: pool({ size: 2, maxUnavailable: value }) })).pools.crawl?.mode,
        "Managed",
      );
    });
  }
  for (const value of [0, -1, 1.5, "25", "101%", "a%", null]) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      const problem = onlyProblem(sample({ crawl: pool({ size: 2, maxUnavailable: value }) }));
      assert.equal(problem.path, "egress:pools.crawl.maxUnavailable");
      assert.match(problem.message, /must be (at least 1|a number of members, 1 or more, or a percentage)/);
    });
  }
});

describe("parseConfig across options", () => {
  it("names the entry's images where a pool wants another one", () => {
    const problem = onlyProblem(sample({ crawl: { ...pool({ size: 1 }), placement: { image: "alpine" } } }));
    assert.equal(problem.path, "egress:pools.crawl.placement.image");
    assert.equal(problem.remedy, "Choose one of: debian-12.");
  });

  it("knows the machine type small without its being configured", () => {
    assert.deepEqual(problemsOf(sample()), []);
  });

  const references: [string, object, string][] = [
    ["host", { host: "lab2" }, "egress:pools.crawl.members.a.placement.host"],
    ["zone", { zone: "west" }, "egress:pools.crawl.members.a.placement.zone"],
    ["image", { image: "debian-13" }, "egress:pools.crawl.members.a.placement.image"],
    ["machine type", { machineType: "big" }, "egress:pools.crawl.members.a.placement.machineType"],
  ];
  for (const [kind, placement, path] of references) {
    it(`finds a member's unknown ${kind}`, () => {
      assert.equal(
        onlyProblem(sample({ crawl: pool({ members: { a: { placement }, b: null } }) })).path,
        path,
      );
    });
  }

  it("refuses a host outside the zone that is named with it", () => {
    const raw = sample(
      { crawl: { ...pool({ size: 1 }), placement: { image: "debian-12", host: "a", zone: "west" } } },
      [host("a", { zone: "east" }), host("b", { zone: "west" })],
    );
    const problem = onlyProblem(raw);
    assert.equal(problem.path, "egress:pools.crawl.placement.zone");
    assert.equal(problem.message, "the host a is in zone east");
  });

  it("finds members that would have the same physical name", () => {
    const raw = sample({ a: pool({ members: { "b-c": null } }), "a-b": pool({ members: { c: null } }) });
    const problem = onlyProblem(raw);
    assert.match(problem.message, /dev-a-b-c/);
    assert.match(problem.message, /pool a, member b-c/);
  });

  it("counts the stack's name in the 63 characters of a physical name", () => {
    const raw = sample({ crawl: pool({ members: { ["m".repeat(53)]: null } }) });
    assert.deepEqual(problemsOf(raw), []);
    assert.match(onlyProblem(raw, "test").message, /64 characters/);
  });

  it("refuses names that are no identifiers, of every kind", () => {
    const raw = {
      providers: {
        "la b": entry([host("h/1", { zone: "z z" })], {
          images: { "i:1": { url: "x", sha256: "y" } },
          machineTypes: { "m+": { vcpus: 1, memoryMiB: 512, diskGiB: 8 } },
        }),
      },
      pools: { "p p": pool({ provider: "la b", placement: { image: "i:1" }, members: { "m m": null } }) },
      cloudInit: { "t t": "x" },
    };
    const named = problemsOf(raw).filter(({ message }) => message.startsWith("the name"));
    assert.equal(named.length, 8, listing(named));
  });

  it("wants exactly one source of user-data, from the pool or from every member", () => {
    const { cloudInit, ...without } = pool({ members: { a: { cloudInit: { inline: "x" } }, b: null } });
    const problem = onlyProblem(sample({ crawl: without }));
    assert.equal(problem.path, "egress:pools.crawl.cloudInit");
    assert.match(problem.message, /member b/);
    const own = { a: { cloudInit: { inline: "x" } }, b: { cloudInit } };
    assert.deepEqual(problemsOf(sample({ crawl: { ...without, members: own } })), []);
  });

  it("wants a secretRef to name an entry of egress:cloudInit, and never shows one", () => {
    const raw = (texts: object) => ({
      ...sample({ crawl: pool({ size: 2, cloudInit: { secretRef: "sharde" } }) }),
      ...texts,
    });
    const problem = onlyProblem(raw({ cloudInit: { shared: "canary", own: "canary" } }));
    assert.equal(problem.path, "egress:pools.crawl.cloudInit.secretRef");
    assert.equal(problem.remedy, "Did you mean shared?");
    assert.match(onlyProblem(raw({})).remedy, /pulumi config set --secret --path egress:cloudInit/);
    const wrong = problemsOf(raw({ cloudInit: { sharde: ["canary"] } }));
    assert.deepEqual(pathsOf(wrong), ["egress:cloudInit.sharde"]);
    assert.doesNotMatch(listing(wrong), /canary/);
  });

  it("wants an image for every member", () => {
    const members = { a: { placement: { image: "debian-12" } }, b: null };
    const raw = sample({ crawl: pool({ placement: {}, members }) });
    assert.equal(onlyProblem(raw).path, "egress:pools.crawl.placement.image");
  });

  it("refuses a squid that is open to the world, once for all members", () => {
    const raw = sample({
      crawl: pool({ size: 3, cloudInit: { squid: { allowedClients: ["10.0.0.0/8", "0.0.0.0/0"] } } }),
    });
    assert.equal(onlyProblem(raw).path, "egress:pools.crawl.cloudInit.squid.allowedClients[1]");
  });

  it("finds broken CIDRs of a member's own squid", () => {
    const cloudInit = { squid: { allowedClients: ["10.0.0.0/33"], allowedDestinations: ["10.0.0.1:99999"] } };
    assert.deepEqual(pathsOf(problemsOf(sample({ crawl: pool({ members: { a: { cloudInit } } }) }))), [
      "egress:pools.crawl.members.a.cloudInit.squid.allowedClients[0]",
      "egress:pools.crawl.members.a.cloudInit.squid.allowedDestinations[0]",
    ]);
  });

  it("finds a port that squid must not listen on at the place that sets it", () => {
    const raw = sample({ crawl: pool({ members: { a: { port: 443 }, b: null } }) });
    assert.equal(onlyProblem(raw).path, "egress:pools.crawl.members.a.port");
  });
});
