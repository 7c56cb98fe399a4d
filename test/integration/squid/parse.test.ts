import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import type { SquidOptions } from "@egress-proxies/providers/squid/options";
import { renderSquidConf } from "@egress-proxies/providers/squid/squid-conf";
import fc from "fast-check";
import { parse } from "yaml";
import { parser } from "./parsers";

const BASE: SquidOptions = { port: 3128, visibleHostname: "dev-crawl-1", allowedClients: ["10.77.0.0/16"] };
const VARIANTS: Record<string, SquidOptions> = {
  "the least": BASE,
  "everything set": {
    ...BASE,
    allowedClients: ["10.77.0.0/16", "192.0.2.7", "2001:db8::/32"],
    allowedDestinations: ["10.77.1.1:8080", "10.77.0.0/16", "10.77.1.1", "[fd00::5]:8443", "127.0.0.1:8099"],
    shutdownLifetimeSeconds: 0,
    connectTimeoutSeconds: 300,
  },
  "whole private ranges excepted": {
    ...BASE,
    allowedDestinations: ["10.0.0.0/8", "127.0.0.0/8:81", "fc00::/7", "8.0.0.0/6"],
  },
};

describe("rendered configuration and its real parsers", () => {
  let squid: string;
  let cloudInit: string;
  let folder: string;

  before(() => {
    squid = parser("squid");
    cloudInit = parser("cloud-init");
    folder = mkdtempSync(join(tmpdir(), "egress-parse-"));
  });
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  function file(name: string, content: string): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  function run(command: string, ...args: string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
    return { status, output: stdout + stderr };
  }

  /** What the real squid says against a configuration that it takes. */
  function complaints(options: SquidOptions): string[] {
    const { status, output } = run(squid, "-k", "parse", "-f", file("squid.conf", renderSquidConf(options)));
    assert.equal(status, 0, output);
    // `via off` is on purpose, and squid says each time that it breaks HTTP's rules.
    return output
      .split("\n")
      .filter((line) => /WARNING|ERROR|FATAL/.test(line) && !line.includes("HTTP requires the use of Via"));
  }

  for (const [variant, options] of Object.entries(VARIANTS)) {
    it(`squid -k parse takes squid.conf without a complaint: ${variant}`, () => {
      assert.deepEqual(complaints(options), []);
    });

    it(`cloud-init schema takes the cloud-config: ${variant}`, () => {
      const path = file("user-data.yaml", renderProxyCloudConfig(options));
      const { status, output } = run(cloudInit, "schema", "-c", path);
      assert.equal(status, 0, output);
    });
  }

  it("squid -k parse drops no part of the private ranges, whatever is cut out of them", () => {
    const byte = fc.nat(255);
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    const address = fc.oneof(
      fc
        .tuple(fc.constantFrom(10, 127, 192, 172, 169, 224), byte, byte, byte)
        .map((octets) => octets.join(".")),
      fc
        .tuple(fc.constantFrom("fd00", "fe80", "2002", "64:ff9b", "fc00:1"), group)
        .map((ends) => ends.join("::")),
    );
    fc.assert(
      fc.property(fc.array(address, { minLength: 1, maxLength: 30 }), (allowedDestinations) => {
        assert.deepEqual(complaints({ ...BASE, allowedDestinations }), []);
      }),
      { numRuns: 25 },
    );
  });

  it("both parsers can say no", () => {
    const broken = run(
      squid,
      "-k",
      "parse",
      "-f",
      file("broken.conf", "http_access deny nobody_defined_this\n"),
    );
    assert.notEqual(broken.status, 0);
    const invalid = run(cloudInit, "schema", "-c", file("broken.yaml", "#cloud-config\nruncmd: 7\n"));
    assert.notEqual(invalid.status, 0);
  });

  it("sh takes the commands of the cloud-config", () => {
    const { runcmd } = parse(renderProxyCloudConfig(BASE)) as { runcmd: string[] };
    assert.equal(runcmd.length, 1);
    const { status, output } = run("sh", "-n", file("runcmd", runcmd[0]!));
    assert.equal(status, 0, output);
  });
});
