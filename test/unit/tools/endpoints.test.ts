import assert from "node:assert/strict";
import { type Endpoint, FORMATS, usable, withLastChecks } from "../../../tools/endpoints/format";

const endpoint = (name: string, pool: string, more: Partial<Endpoint> = {}): Endpoint => ({
  name,
  pool,
  url: `http://${name}:3128`,
  ready: true,
  maxLeases: 5,
  ...more,
});

describe("endpoints", () => {
  const all = [
    endpoint("a", "crawl"),
    endpoint("b", "crawl-eu.1"),
    endpoint("c", "crawl", { labels: { x: "y" } }),
  ];

  it("are a URL on each line", () => {
    assert.equal(FORMATS.urls(all), "http://a:3128\nhttp://b:3128\nhttp://c:3128\n");
  });

  it("are JSON with everything that the stack says of them", () => {
    assert.deepEqual(JSON.parse(FORMATS.json(all)), all);
  });

  it("are variables, of all and of each pool", () => {
    assert.equal(
      FORMATS.env(all),
      "EGRESS_PROXIES=http://a:3128,http://b:3128,http://c:3128\n" +
        "EGRESS_PROXIES_CRAWL=http://a:3128,http://c:3128\n" +
        "EGRESS_PROXIES_CRAWL_EU_1=http://b:3128\n",
    );
  });

  it("are refused as variables where two pools come to the same one", () => {
    assert.throws(() => FORMATS.env([endpoint("a", "x-y"), endpoint("b", "x.y")]), /EGRESS_PROXIES_X_Y/);
  });

  it("are as their last checks found them, and gone with their check", () => {
    const check = (name: string, ready: boolean, reason: string) => ({
      outputs: { name, ready, reason, target: { url: "" } },
    });
    const resources = [
      {},
      { outputs: { name: "b" } },
      check("a", false, "ConnectRefused"),
      check("c", true, "Ready"),
    ];
    const [a, c, ...rest] = withLastChecks(all, { deployment: { resources } });
    assert.deepEqual(
      [a, c],
      [
        { ...all[0], ready: false, reason: "ConnectRefused" },
        { ...all[2], ready: true, reason: "Ready" },
      ],
    );
    assert.deepEqual(rest, []);
  });

  it("are usable with an address, ready, and given out", () => {
    const others = [
      endpoint("d", "crawl", { url: "" }),
      endpoint("e", "crawl", { ready: false }),
      endpoint("f", "crawl", { maxLeases: 0 }),
    ];
    assert.deepEqual(usable([...all, ...others]), all);
  });
});
