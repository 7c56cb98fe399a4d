import assert from "node:assert/strict";
import { image, lab } from "./lab";
import { statusThrough } from "./request";
import { Stack, setting } from "./stack";

const GIVE_UP_MS = 8 * 60_000;

/** Two real proxies on a real hypervisor, through everything that happens to them. Steps build on each other. */
describe("two proxies, from nothing and back", function () {
  this.timeout(GIVE_UP_MS);
  this.bail(true);
  let stack: Stack;
  const name = `e${process.pid}`;

  const configure = (change: { maxLeases?: number; machineType?: string } = {}) =>
    stack.configure({
      providers: { lab: lab.entry({}, { guest: image(setting("EGRESS_TEST_IMAGE")) }) },
      pools: {
        crawl: {
          provider: "lab",
          size: 2,
          maxLeases: change.maxLeases ?? 5,
          placement: { machineType: change.machineType ?? "small", image: "guest" },
          cloudInit: {
            squid: {
              allowedClients: [lab.clients],
              allowedDestinations: [new URL(lab.target).host],
            },
          },
          healthCheck: { url: lab.target },
        },
      },
    });

  before(async () => {
    stack = new Stack(name);
    await stack.init();
    configure();
  });
  after(async () => {
    await stack.destroy();
    stack.dispose();
  });

  it("makes them, and each answers through itself", async () => {
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
    const proxies = await stack.proxies();
    assert.deepEqual(
      proxies.map((proxy) => [proxy.name, proxy.pool, proxy.provider, proxy.host, proxy.ready, proxy.reason]),
      ["1", "2"].map((member) => [`${name}-crawl-${member}`, "crawl", "lab", "lab1", true, "Ready"]),
    );
    for (const { url } of proxies) assert.equal(await statusThrough(url, lab.target), 204, url);
  });

  it("refuses a client outside the list, and private destinations to everyone", async () => {
    const { url } = (await stack.proxies())[0]!;
    assert.equal(await statusThrough(url, lab.target, ["--interface", lab.outsider]), 403);
    assert.equal(await statusThrough(url, "http://127.0.0.1/"), 403);
    assert.equal(await statusThrough(url, "http://169.254.169.254/"), 403);
  });

  it("changes nothing when run again", async () => {
    const { code, text } = await stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
    assert.equal(code, 0, text);
  });

  it("has nothing to say about healthy proxies on refresh", async () => {
    const { code, text } = await stack.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes");
    assert.equal(code, 0, text);
  });

  it("replaces nothing for another maxLeases", async () => {
    configure({ maxLeases: 9 });
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
    assert.doesNotMatch(text, /replaced|created|deleted/);
    assert.deepEqual(
      (await stack.proxies()).map(({ maxLeases }) => maxLeases),
      [9, 9],
    );
  });

  it("warns of a stopped machine, keeps it, and starts it with the next up", async () => {
    await lab.virsh("destroy", `${name}-crawl-1`);
    const refresh = await stack.refresh();
    assert.equal(refresh.code, 0, refresh.text);
    assert.match(refresh.text, new RegExp(`${name}-crawl-1.*is stopped`));
    assert.match(await stack.exported(), new RegExp(`"name": "${name}-crawl-1"`));
    const up = await stack.up();
    assert.equal(up.code, 0, up.text);
    for (const { url } of await stack.proxies()) assert.equal(await statusThrough(url, lab.target), 204, url);
  });

  it("fails to refresh a host whose sshd is stopped, names it, and loses no state", async () => {
    const before = resourcesOf(await stack.exported());
    await lab.sshd("stop");
    let refresh: { code: number | null; text: string };
    try {
      refresh = await stack.refresh();
    } finally {
      await lab.sshd("start");
    }
    assert.notEqual(refresh.code, 0, refresh.text);
    assert.match(refresh.text, /lab1/);
    assert.deepEqual(resourcesOf(await stack.exported()), before);
  });

  it("drops a machine undefined by hand, and makes it and the others of a new machine type anew", async () => {
    await lab.virsh("destroy", `${name}-crawl-2`);
    await lab.virsh("undefine", "--nvram", `${name}-crawl-2`);
    const refresh = await stack.refresh();
    assert.equal(refresh.code, 0, refresh.text);
    assert.doesNotMatch(await stack.exported(), /crawl-2-machine"/);
    configure({ maxLeases: 9, machineType: "smaller" });
    const up = await stack.up();
    assert.equal(up.code, 0, up.text);
    assert.match(up.text, /crawl-1-machine.*replaced/);
    for (const { url } of await stack.proxies()) assert.equal(await statusThrough(url, lab.target), 204, url);
  });

  it("leaves the base image alone on the host after destroy", async () => {
    const { code, text } = await stack.destroy();
    assert.equal(code, 0, text);
    assert.deepEqual(await lab.holds(name), { domains: [], volumes: [] });
    assert.notDeepEqual((await lab.holds("base-guest")).volumes, []);
  });
});

/** URN and outputs of every resource in an exported state. */
function resourcesOf(exported: string): unknown {
  const { deployment } = JSON.parse(exported) as {
    deployment: { resources: { urn: string; outputs: unknown }[] };
  };
  return deployment.resources.map(({ urn, outputs }) => ({ urn, outputs }));
}
