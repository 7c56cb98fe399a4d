import assert from "node:assert/strict";
import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import { httpPortsOf } from "@egress-proxies/providers/squid/http-ports";
import type { SquidOptions } from "@egress-proxies/providers/squid/options";
import { renderSquidConf } from "@egress-proxies/providers/squid/squid-conf";
import { parse } from "yaml";
import { matchSnapshot } from "./snapshot";

const OPTIONS: SquidOptions = {
  port: 3128,
  visibleHostname: "dev-crawl-1",
  allowedClients: ["10.77.0.0/16"],
};

describe("renderProxyCloudConfig", () => {
  it("is the user-data that was reviewed", () => {
    matchSnapshot("cloud-config.yaml", renderProxyCloudConfig(OPTIONS));
  });

  it("writes exactly the rendered squid.conf", () => {
    const text = renderProxyCloudConfig(OPTIONS);
    assert.match(text, /^#cloud-config\n/);
    const config = parse(text) as { write_files: { path: string; content: string }[] };
    assert.deepEqual(
      config.write_files.map(({ path, content }) => [path, content]),
      [["/etc/squid/squid.conf", renderSquidConf(OPTIONS)]],
    );
  });

  it("gives the host its line in /etc/hosts", () => {
    const config = parse(renderProxyCloudConfig(OPTIONS)) as { manage_etc_hosts: string };
    assert.equal(config.manage_etc_hosts, "localhost");
  });

  it("never restarts squid and never lets a package list force a network update", () => {
    const text = renderProxyCloudConfig(OPTIONS);
    assert.doesNotMatch(text, /restart/);
    assert.doesNotMatch(text, /^packages?(_\w+)?:/m);
  });

  it("listens where httpPortsOf says", () => {
    assert.deepEqual(httpPortsOf(renderProxyCloudConfig({ ...OPTIONS, port: 8888 })), [8888]);
  });
});
