import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunError, runtime } from "@pulumi/pulumi";
import { deploy } from "../../../stacks/program";
import {
  type Addresses,
  CHECK,
  fakeEngine,
  MACHINE,
  POOL,
  PROXY,
  type Registered,
  resolved,
  secretOf,
} from "./engine";

type Json = Record<string, unknown>;

const host = (name: string): Json => ({ name, address: `${name}.example.org` });

function providers(...hosts: Json[]): Json {
  return { lab: { type: "kvm", hosts, images: { "debian-12": { url: "i.qcow2", sha256: "SHA256SUMS" } } } };
}

function crawl(more: Json): Json {
  return {
    crawl: {
      provider: "lab",
      placement: { image: "debian-12" },
      cloudInit: { inline: "#cloud-config\n" },
      ...more,
    },
  };
}

/** A stack with this config, on an engine that only takes notes. */
function stack(config: Json, addresses: Addresses = {}): Registered[] {
  const texts = Object.entries(config).map(([key, value]) => [`egress:${key}`, JSON.stringify(value)]);
  const registered = fakeEngine(addresses);
  runtime.setAllConfig(Object.fromEntries(texts));
  return registered;
}

const hostsOf = (registered: Registered[]) =>
  registered
    .filter(({ type }) => type === MACHINE)
    .map(({ inputs }) => (inputs.host as { name: string }).name);

const named = (registered: Registered[]) => registered.map(({ type, name }) => `${type} ${name}`).sort();

describe("deploy", () => {
  it("builds every pool of the config, and nothing else", async () => {
    const registered = stack({
      providers: providers(host("lab1")),
      pools: { ...crawl({ size: 2 }), shop: crawl({ members: { one: null } }).crawl },
    });
    const { proxies } = await deploy();
    await resolved(proxies);
    assert.deepEqual(
      named(registered),
      [
        `${POOL} crawl`,
        `${POOL} shop`,
        ...["crawl-1", "crawl-2", "shop-one"].flatMap((proxy) => [
          `${PROXY} ${proxy}`,
          `${MACHINE} ${proxy}-machine`,
          `${CHECK} ${proxy}-check`,
        ]),
      ].sort(),
    );
  });

  it("exports endpoints in order, and the URLs of those that have an address", async () => {
    stack(
      { providers: providers(host("lab1")), pools: crawl({ size: 3, port: 8080 }) },
      { "crawl-1-machine": "192.0.2.7", "crawl-2-machine": "", "crawl-3-machine": "192.0.2.9" },
    );
    const { proxies, urls } = await deploy();
    assert.deepEqual(
      (await resolved(proxies)).map(({ name, url }) => [name, url]),
      [
        ["dev-crawl-1", "http://192.0.2.7:8080"],
        ["dev-crawl-2", ""],
        ["dev-crawl-3", "http://192.0.2.9:8080"],
      ],
    );
    assert.deepEqual(await resolved(urls), ["http://192.0.2.7:8080", "http://192.0.2.9:8080"]);
  });

  it("leaves machines on the hosts that they were on", async () => {
    const registered = stack({ providers: providers(host("a"), host("b")), pools: crawl({ size: 2 }) });
    const machines = new Map(
      ["1", "2"].map((member) => [`dev-crawl-${member}`, { host: "b", entry: "lab" }]),
    );
    const { proxies } = await deploy({ previous: async () => ({ machines, external: new Set() }) });
    assert.deepEqual(
      (await resolved(proxies)).map(({ host: at }) => at),
      ["b", "b"],
    );
    assert.deepEqual(hostsOf(registered), ["b", "b"]);
  });

  it("refuses to change mode or provider in place, says how to move, and touches nothing", async () => {
    const { lab } = providers(host("a"));
    const out = { mode: "External", members: { "1": { endpoint: { host: "192.0.2.9", port: 8080 } } } };
    const cases: [Json, string, RegExp][] = [
      [
        { ...crawl({ size: 2, provider: "rack" }), ...{ out } },
        "dev-crawl-2",
        /pools\.crawl\.provider: dev-crawl-2 runs on lab/,
      ],
      [{ crawl: out }, "dev-crawl-1", /pools\.crawl\.mode: dev-crawl-1 is Managed/],
      [
        { ...crawl({ size: 2 }), out: crawl({ size: 1 }).crawl },
        "",
        /pools\.out\.mode: dev-out-1 is External/,
      ],
    ];
    for (const [pools, standing, wanted] of cases) {
      const registered = stack({ providers: { lab, rack: lab }, pools });
      const machines = new Map(standing === "" ? [] : [[standing, { host: "a", entry: "lab" }]]);
      await assert.rejects(
        deploy({ previous: async () => ({ machines, external: new Set(["dev-out-1"]) }) }),
        (error) => {
          assert.ok(RunError.isInstance(error));
          assert.match(error.message, /^The config has 1 problem; nothing was changed:/);
          assert.match(error.message, wanted);
          assert.match(error.message, /To move: add a pool of another name/);
          return true;
        },
      );
      assert.deepEqual(registered, []);
    }
  });

  it("reports each pool's size, how many are ready, and how many a change leaves alone", async () => {
    const out = { mode: "External", members: { a: { endpoint: { host: "192.0.2.9", port: 8080 } } } };
    stack({
      providers: providers(host("a")),
      pools: { ...crawl({ size: 8, maxUnavailable: "25%" }), shop: crawl({ size: 1 }).crawl, out },
    });
    assert.deepEqual(await resolved((await deploy()).pools), [
      { name: "crawl", size: 8, ready: 8, minReady: 6 },
      { name: "out", size: 1, ready: 1, minReady: 1 },
      { name: "shop", size: 1, ready: 1, minReady: 0 },
    ]);
  });

  it("goes on with a warning where the last state cannot be read", async () => {
    const registered = stack({ providers: providers(host("a"), host("b")), pools: crawl({ size: 2 }) });
    const { proxies } = await deploy({ previous: () => Promise.reject(new Error("unknown stack")) });
    await resolved(proxies);
    assert.deepEqual(hostsOf(registered), ["a", "b"]);
  });

  it("refuses a wrong config with every problem, without a stack trace, before any resource", async () => {
    const pools = crawl({ size: 2, provider: "lob", cloudInit: { file: "/nowhere/user-data" } });
    const registered = stack({ providers: providers(host("lab1")), pools });
    await assert.rejects(deploy(), (error) => {
      assert.ok(RunError.isInstance(error));
      assert.match(error.message, /^The config has 2 problems; nothing was changed:/);
      assert.match(error.message, /egress:pools\.crawl\.provider: .*\(found "lob"\)\n {4}Did you mean lab\?/);
      assert.match(error.message, /egress:pools\.crawl\.cloudInit\.file: the file cannot be read: ENOENT/);
      return true;
    });
    assert.deepEqual(registered, []);
  });

  it("reads user-data from a file", async () => {
    const directory = mkdtempSync(join(tmpdir(), "egress-stacks-"));
    try {
      const file = join(directory, "user-data");
      writeFileSync(file, "#!/bin/sh\r\n");
      const registered = stack({
        providers: providers(host("lab1")),
        pools: crawl({ size: 1, cloudInit: { file } }),
      });
      await resolved((await deploy()).proxies);
      const machine = registered.find(({ type }) => type === MACHINE);
      assert.deepEqual(machine?.inputs.userData, secretOf("#!/bin/sh\r\n"));
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
