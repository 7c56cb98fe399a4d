import assert from "node:assert/strict";
import type { SquidOptions } from "@egress-proxies/providers/squid/options";
import { renderSquidConf } from "@egress-proxies/providers/squid/squid-conf";
import { matchSnapshot } from "./snapshot";

const BASE: SquidOptions = {
  port: 3128,
  visibleHostname: "dev-crawl-1",
  allowedClients: ["10.77.0.0/16", "2001:db8:7::/48"],
};

function accessRules(options: SquidOptions): string[] {
  return renderSquidConf(options)
    .split("\n")
    .filter((line) => line.startsWith("http_access "));
}

describe("renderSquidConf", () => {
  it("is the configuration that was reviewed", () => {
    matchSnapshot("default.conf", renderSquidConf(BASE));
  });

  it("with exceptions and times is the configuration that was reviewed", () => {
    const options: SquidOptions = {
      ...BASE,
      allowedDestinations: ["10.77.1.1:8080", "192.168.0.0/16", "[fd00::5]:8443", "192.0.2.9:8000"],
      shutdownLifetimeSeconds: 60,
      connectTimeoutSeconds: 5,
    };
    matchSnapshot("exceptions.conf", renderSquidConf(options));
  });

  it("turns strangers away first and ends with deny all", () => {
    for (const options of [BASE, { ...BASE, allowedDestinations: ["10.0.0.1:8080"] }]) {
      const rules = accessRules(options);
      assert.equal(rules[0], "http_access deny !crawlers");
      assert.equal(rules.at(-1), "http_access deny all");
      assert.deepEqual(
        rules.filter((rule) => rule.startsWith("http_access allow")),
        ["http_access allow crawlers"],
      );
    }
  });

  it("is the same whatever the order of lists and keys", () => {
    const options: SquidOptions = { ...BASE, allowedDestinations: ["10.0.0.1:8080", "10.0.0.2"] };
    const turned: SquidOptions = {
      allowedDestinations: ["10.0.0.2", "10.0.0.1:8080"],
      allowedClients: [...BASE.allowedClients].reverse(),
      visibleHostname: BASE.visibleHostname,
      port: BASE.port,
    };
    assert.equal(renderSquidConf(turned), renderSquidConf(options));
  });

  it("does not narrow what is public already", () => {
    const rules = accessRules({ ...BASE, allowedDestinations: ["192.0.2.9:8000"] });
    assert.ok(!rules.some((rule) => rule.includes("private_but_excepted")));
  });
});
