import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { renderSquidConf } from "@egress-proxies/providers/squid/squid-conf";
import { parser } from "./parsers";
import { freePort, type ProxyRequest, RealSquid } from "./real-squid";

/** The header lines that a target saw, as it answers them. */
type Seen = Record<string, string>;

describe("the real squid on the rendered squid.conf", () => {
  let target: Server;
  let squid: RealSquid;
  let targetPort: number;

  before(async () => {
    const program = parser("squid");
    target = createServer((request, response) => response.end(JSON.stringify(request.headers)));
    await once(target.listen(0, "127.0.0.1"), "listening");
    targetPort = (target.address() as AddressInfo).port;
    const port = await freePort();
    const conf = renderSquidConf({
      port,
      visibleHostname: "proxy-under-test",
      allowedClients: ["127.0.0.1/32"],
      allowedDestinations: [`127.0.0.1:${targetPort}`, "127.0.0.7", "[fd00::5]:8443"],
      shutdownLifetimeSeconds: 0,
      connectTimeoutSeconds: 1,
    });
    squid = await RealSquid.start(program, port, conf);
  });
  after(async () => {
    await squid?.stop();
    target?.closeAllConnections();
    target?.close();
  });

  async function refused(request: ProxyRequest): Promise<void> {
    const { status, squidError } = await squid.ask(request);
    assert.deepEqual([status, squidError], [403, "ERR_ACCESS_DENIED"], JSON.stringify(request));
  }

  async function seen(headers: Record<string, string>): Promise<Seen> {
    const { status, body } = await squid.ask({ target: `http://127.0.0.1:${targetPort}/`, headers });
    assert.equal(status, 200);
    return JSON.parse(body) as Seen;
  }

  it("passes an allowed client to an excepted target, and by CONNECT", async () => {
    await seen({});
    const tunnel = await squid.ask({ target: `127.0.0.1:${targetPort}`, method: "CONNECT" });
    assert.equal(tunnel.status, 200);
  });

  it("lets the rules pass what is public", async () => {
    // TEST-NET-1 (RFC 5737) answers nobody; what counts is that squid tries.
    const { status } = await squid.ask({ target: "http://192.0.2.1/" });
    assert.notEqual(status, 403);
  });

  it("refuses a stranger whatever is asked", async () => {
    const from = "127.0.0.2";
    await refused({ from, target: `http://127.0.0.1:${targetPort}/` });
    await refused({ from, target: "http://192.0.2.1/" });
    await refused({ from, target: "192.0.2.1:443", method: "CONNECT" });
  });

  const spellings: Record<string, string> = {
    "loopback as it is": "127.0.0.1",
    "loopback in decimal": "2130706433",
    "loopback in hex": "0x7f000001",
    "loopback in octal": "017700000001",
    "loopback with an octal part": "0177.0.0.1",
    "loopback shortened": "127.1",
    "loopback with a final dot": "127.0.0.1.",
    "loopback mapped": "[::ffff:127.0.0.1]",
    "loopback mapped in hex": "[::ffff:7f00:1]",
    "loopback IPv4-compatible": "[::127.0.0.1]",
    "loopback IPv4-translated": "[::ffff:0:127.0.0.1]",
    "loopback by NAT64": "[64:ff9b::7f00:1]",
    "loopback by 6to4": "[2002:7f00:1::]",
    "loopback of IPv6": "[::1]",
    "loopback by name": "localhost",
    "this network": "0.0.0.0",
    "this network in short": "0",
    "the unspecified address": "[::]",
    "the metadata address": "169.254.169.254",
    "the metadata address in decimal": "2852039166",
    "link-local of IPv6": "[fe80::1]",
    "the metadata address of IPv6": "[fd00:ec2::254]",
    "a private network": "10.1.2.3",
    "the shared range": "100.64.0.1",
    "the proxy's own name": "proxy-under-test",
  };
  for (const [what, host] of Object.entries(spellings)) {
    it(`refuses ${what}`, async () => {
      await refused({ target: `http://${host}/` });
      await refused({ target: `${host}:443`, method: "CONNECT" });
    });
  }

  it("refuses the neighbours of an excepted address", async () => {
    for (const host of ["127.0.0.0", "127.0.0.2", "127.255.255.255", "[fd00::4]", "[fd00::6]", "[fdff::]"]) {
      await refused({ target: `http://${host}:${targetPort}/` });
      await refused({ target: `http://${host}/` });
    }
  });

  it("excepts an address without a port on 80 and 443 only", async () => {
    const { status, squidError } = await squid.ask({ target: "http://127.0.0.7/" });
    assert.deepEqual(
      [status, squidError],
      [503, "ERR_CONNECT_FAIL"],
      "squid tried, and nobody listens there",
    );
    await refused({ target: "127.0.0.7:80", method: "CONNECT" });
    await refused({ target: `http://127.0.0.7:${targetPort}/` });
  });

  it("excepts an address with a port on that port only", async () => {
    await refused({ target: "http://[fd00::5]/" });
    await refused({ target: "[fd00::5]:443", method: "CONNECT" });
  });

  it("refuses other ports of public targets", async () => {
    await refused({ target: "http://192.0.2.1:22/" });
    await refused({ target: "http://192.0.2.1:8080/" });
    await refused({ target: "192.0.2.1:22", method: "CONNECT" });
    await refused({ target: "192.0.2.1:80", method: "CONNECT" });
    await refused({ target: `http://192.0.2.1:${targetPort}/` });
  });

  it("refuses its own port and its manager", async () => {
    await refused({ target: `http://127.0.0.1:${squid.port}/` });
    await refused({ target: `http://192.0.2.1:${squid.port}/` });
    await refused({ target: "http://proxy-under-test/squid-internal-mgr/info" });
    await refused({ target: `http://127.0.0.1:${targetPort}/squid-internal-mgr/info` });
    await refused({ target: "/squid-internal-mgr/menu" });
    await refused({ target: "cache_object://127.0.0.1/info" });
  });

  it("shows a target no trace of a proxy", async () => {
    const headers = await seen({ "x-forwarded-for": "192.0.2.99" });
    assert.deepEqual(Object.keys(headers).sort(), ["connection", "host"]);
  });

  it("passes on the client's own Cache-Control", async () => {
    assert.equal((await seen({ "cache-control": "no-cache" }))["cache-control"], "no-cache");
    assert.equal((await seen({ "cache-control": "max-age=0" }))["cache-control"], "max-age=0");
  });
});
