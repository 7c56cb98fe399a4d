import { strict as assert } from "node:assert";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { probeProxy } from "@egress-proxies/providers/health/probe";
import type { ProbeEnvironment, ProbeReport } from "@egress-proxies/providers/health/report";
import { type Certificates, makeCertificates } from "./certificates";
import { drip, flood, type ProxyOptions, refuse, TestProxy } from "./proxy";
import { TestTarget } from "./target";

const MiB = 1024 * 1024;
const LOOPBACK = [
  { address: "127.0.0.1", interfaceName: "lo" },
  { address: "127.0.0.2", interfaceName: "lo" },
];
const HTTP = { url: "http://target.test/204", expectedStatus: 204 };
const HTTPS = { url: "https://target.test/204", expectedStatus: 204 };

const endlessHeaders = (socket: Socket) =>
  flood(socket, "HTTP/1.1 200 OK\r\n", `X-More: ${"x".repeat(1000)}\r\n`);
const endlessInterim = (socket: Socket) => flood(socket, "", "HTTP/1.1 100 Continue\r\n\r\n".repeat(100));
const grant = (socket: Socket, more: string): void => {
  socket.write(`HTTP/1.1 200 OK\r\n\r\n${more}`);
};
const outcomes = ({ stages }: ProbeReport) => stages.map(({ stage, outcome }) => `${stage} ${outcome}`);

describe("probeProxy", () => {
  let certificates: Certificates;
  let plain: TestTarget;
  let secure: TestTarget;
  let misnamed: TestTarget;
  let names: Record<string, number>;
  const proxies: TestProxy[] = [];

  before(async () => {
    certificates = makeCertificates();
    plain = new TestTarget();
    secure = new TestTarget(certificates.good);
    misnamed = new TestTarget(certificates.otherName);
    names = {
      "target.test": await plain.listen(),
      "target.test:443": await secure.listen(),
      "misnamed.test:443": await misnamed.listen(),
    };
  });
  after(() => Promise.all([plain, secure, misnamed].map((target) => target.close())));
  beforeEach(() => {
    for (const target of [plain, secure, misnamed]) {
      target.status = 204;
      target.connections = 0;
    }
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.close())));

  function started(options: ProxyOptions = {}): TestProxy {
    const proxy = new TestProxy({ names, ...options });
    proxies.push(proxy);
    return proxy;
  }

  async function probe(
    proxy: TestProxy,
    changes: Partial<Parameters<typeof probeProxy>[0]> = {},
    env: Partial<ProbeEnvironment> = {},
  ): Promise<ProbeReport> {
    const port = changes.port ?? (await proxy.listen());
    return probeProxy(
      {
        name: "web-1",
        host: "127.0.0.1",
        port,
        target: HTTPS,
        allowedClients: ["127.0.0.1/32"],
        timeoutSeconds: 5,
        ...changes,
      },
      {
        localAddresses: () => LOOPBACK,
        monotonicMs: () => performance.now(),
        ca: certificates.ca,
        ...env,
      },
    );
  }

  describe("of an honest proxy", () => {
    it("reaches an https target, after a stranger was refused", async () => {
      const proxy = started();
      const report = await probe(proxy);
      assert.deepEqual(outcomes(report), [
        "tcp passed",
        "outsider passed",
        "privateDestination passed",
        "target passed",
      ]);
      assert.equal(report.reason, "Ready");
      assert.ok(report.latencyMs !== undefined && report.latencyMs >= 0);
      assert.deepEqual(proxy.seen, [
        { from: "127.0.0.2", method: "CONNECT", destination: "target.test:443" },
        { from: "127.0.0.1", method: "CONNECT", destination: "127.0.0.1:443" },
        { from: "127.0.0.1", method: "CONNECT", destination: "target.test:443" },
      ]);
    });

    it("reaches an http target by the absolute form", async () => {
      const proxy = started();
      const report = await probe(proxy, { target: HTTP });
      assert.equal(report.reason, "Ready");
      assert.deepEqual(proxy.seen.at(-1), {
        from: "127.0.0.1",
        method: "GET",
        destination: "http://target.test/204",
      });
    });

    it("tries a private destination where nobody can play the stranger", async () => {
      const proxy = started();
      const report = await probe(proxy, {}, { localAddresses: () => LOOPBACK.slice(0, 1) });
      assert.deepEqual(outcomes(report), [
        "tcp passed",
        "outsider skipped",
        "privateDestination passed",
        "target passed",
      ]);
      assert.equal(proxy.seen[0]?.destination, "127.0.0.1:443");
    });

    it("goes on where the stranger's address has no way to the proxy", async () => {
      // An address of TEST-NET-1, which no interface here carries: binding it fails.
      const nowhere = { address: "192.0.2.77", interfaceName: "lo" };
      const report = await probe(started(), {}, { localAddresses: () => [LOOPBACK[0]!, nowhere] });
      assert.equal(outcomes(report)[1], "outsider skipped");
      assert.equal(report.reason, "Ready");
    });

    it("says the same in the same words, so that a refresh shows no change", async () => {
      const proxy = started();
      const port = await proxy.listen();
      const first = await probe(proxy, { port });
      const second = await probe(proxy, { port });
      assert.equal(second.message, first.message);
      assert.match(first.message, /^web-1 \(127\.0\.0\.1:\d+\) /);
    });

    it("names the target's own status", async () => {
      for (const target of [HTTP, HTTPS]) {
        plain.status = secure.status = 403;
        const blocked = await probe(started(), { target });
        assert.equal(blocked.reason, "Blocked", target.url);
        assert.match(blocked.message, /answers 403 instead of 204/);
        plain.status = secure.status = 500;
        assert.equal((await probe(started(), { target })).reason, "UnexpectedStatus", target.url);
      }
    });

    it("verifies the target's certificate", async () => {
      const misnamedUrl = { url: "https://misnamed.test/", expectedStatus: 204 };
      const wrongName = await probe(started(), { target: misnamedUrl });
      assert.equal(wrongName.reason, "TlsFailed");
      assert.match(wrongName.message, /ERR_TLS_CERT_ALTNAME_INVALID/);
      const unknownCa = await probe(started(), {}, { ca: certificates.otherCa });
      assert.equal(unknownCa.reason, "TlsFailed");
      assert.match(unknownCa.message, /UNABLE_TO_VERIFY_LEAF_SIGNATURE/);
    });
  });

  describe("of a proxy that does too much", () => {
    it("finds one that serves strangers, for http and https targets", async () => {
      for (const target of [HTTP, HTTPS]) {
        const report = await probe(started({ allowedClients: ["0.0.0.0/0"] }), { target });
        assert.equal(report.reason, "OpenProxy", target.url);
        assert.match(report.message, /127\.0\.0\.2, which is not in allowedClients/);
      }
    });

    it("finds one that would serve strangers if only it reached the target", async () => {
      const open = started({ allowedClients: ["0.0.0.0/0"], names: {} });
      assert.equal((await probe(open)).reason, "OpenProxy");
    });

    it("only warns where a translated address may have made the stranger an allowed client", async () => {
      const bridge = [LOOPBACK[0]!, { address: "127.0.0.2", interfaceName: "docker0" }];
      const report = await probe(
        started({ allowedClients: ["0.0.0.0/0"] }),
        {},
        { localAddresses: () => bridge },
      );
      assert.equal(report.reason, "Ready");
      const [, outsider] = report.stages;
      assert.ok(outsider?.outcome === "skipped");
      assert.match(outsider.warning ?? "", /127\.0\.0\.2.*open to strangers/);
    });

    it("takes a closed connection for a refusal of strangers", async () => {
      const hangsUpOnStrangers = started({
        onConnection: (socket) => {
          if (socket.remoteAddress === "127.0.0.2") socket.destroy();
        },
      });
      const report = await probe(hangsUpOnStrangers, { timeoutSeconds: 0.5 });
      assert.equal(outcomes(report)[1], "outsider passed");
    });

    it("finds one that opens its own loopback", async () => {
      const report = await probe(started({ allowPrivate: true }), { allowedClients: [] });
      assert.equal(report.reason, "PrivateDestinationAllowed");
      assert.match(report.message, /127\.0\.0\.1:443/);
    });
  });

  describe("of a proxy that does not do its work", () => {
    const table: [what: string, options: ProxyOptions, https: string, http: string][] = [
      ["refuses everyone", { allowedClients: [] }, "AccessDenied", "AccessDenied"],
      [
        "asks for credentials",
        { misbehave: (socket) => refuse(socket, 407, "ERR_CACHE_ACCESS_DENIED 0") },
        "AccessDenied",
        "AccessDenied",
      ],
      ["cannot resolve the target", { names: {} }, "TargetUnreachable", "TargetUnreachable"],
      [
        "cannot connect to the target",
        { misbehave: (socket) => refuse(socket, 503, "ERR_CONNECT_FAIL 111") },
        "TargetUnreachable",
        "TargetUnreachable",
      ],
      [
        "is out of order",
        { misbehave: (socket) => refuse(socket, 500) },
        "UnexpectedStatus",
        "UnexpectedStatus",
      ],
      ["resets", { misbehave: (socket) => socket.resetAndDestroy() }, "ProtocolError", "ProtocolError"],
      [
        "closes early",
        { misbehave: (socket) => socket.end("HTTP/1.1 20") },
        "ProtocolError",
        "ProtocolError",
      ],
      [
        "speaks another protocol",
        { misbehave: (socket) => socket.end("220 smtp\r\n") },
        "ProtocolError",
        "ProtocolError",
      ],
      [
        "switches protocols unasked",
        { misbehave: (socket) => socket.end("HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n") },
        "UnexpectedStatus",
        "ProtocolError",
      ],
      [
        "closes the tunnel",
        { misbehave: (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n") },
        "ProtocolError",
        "UnexpectedStatus",
      ],
      [
        "speaks plain text in the tunnel",
        { misbehave: (socket) => grant(socket, "hello, this is no TLS\r\n") },
        "TlsFailed",
        "UnexpectedStatus",
      ],
    ];
    for (const [what, options, https, http] of table) {
      it(`says ${https} for https and ${http} for http when it ${what}`, async () => {
        assert.equal((await probe(started(options))).reason, https);
        assert.equal((await probe(started(options), { target: HTTP })).reason, http);
        assert.equal(plain.connections + secure.connections, 0);
      });
    }

    it("says ConnectRefused where nothing listens", async () => {
      const proxy = started();
      const port = await proxy.listen();
      await proxy.close();
      const report = await probe(started(), { port });
      assert.equal(report.reason, "ConnectRefused");
      assert.deepEqual(outcomes(report), ["tcp failed"]);
    });

    it("says Unreachable where there is no way", async () => {
      // The broadcast address: every kernel refuses TCP to it at once.
      const report = await probe(started(), { host: "255.255.255.255" });
      assert.equal(report.reason, "Unreachable");
    });
  });

  describe("of a hostile proxy", () => {
    const endless: [what: string, options: ProxyOptions, reason: string, target?: typeof HTTP][] = [
      ["never answers", { misbehave: () => {} }, "ResponseTimeout"],
      ["never answers anyone", { onConnection: () => {} }, "ResponseTimeout"],
      ["drips its answer", { misbehave: drip }, "ResponseTimeout"],
      ["sends endless headers", { misbehave: endlessHeaders }, "ProtocolError"],
      ["sends endless interim answers", { misbehave: endlessInterim }, "ResponseTimeout", HTTP],
      ["is silent in the tunnel", { misbehave: (socket) => grant(socket, "") }, "ResponseTimeout"],
    ];
    for (const [what, options, reason, target = HTTPS] of endless) {
      it(`ends within the deadline when it ${what}`, async () => {
        const begun = performance.now();
        const report = await probe(started(options), { timeoutSeconds: 1, target });
        assert.equal(report.reason, reason);
        assert.ok(performance.now() - begun < 2500, `${performance.now() - begun} ms`);
      });
    }

    it("does not read a body that never ends", async () => {
      const body = started({
        misbehave: (socket) => flood(socket, "HTTP/1.1 204 OK\r\n\r\n", "x".repeat(65536)),
      });
      const report = await probe(body, { target: { ...HTTP, expectedStatus: 204 } });
      assert.equal(report.reason, "Ready");
      await body.close();
      assert.ok(body.bytesSent < 16 * MiB, `${body.bytesSent} bytes`);
    });

    it("reads no more than a bounded head", async () => {
      const headers = started({ misbehave: endlessHeaders });
      await probe(headers);
      await headers.close();
      assert.ok(headers.bytesSent < 16 * MiB, `${headers.bytesSent} bytes`);
    });
  });

  it("never connects to the target itself, whatever the proxy does", async () => {
    const trap = new TestTarget();
    const url = `http://127.0.0.1:${await trap.listen()}/`;
    const closed = started();
    const port = await closed.listen();
    await closed.close();
    try {
      const target = { url, expectedStatus: 204 };
      for (const options of [
        { allowedClients: [] },
        { misbehave: (socket) => socket.resetAndDestroy() },
        { onConnection: (socket) => socket.destroy() },
        { names: {} },
      ] satisfies ProxyOptions[]) {
        assert.notEqual((await probe(started(options), { target })).reason, "Ready");
      }
      assert.equal((await probe(started(), { target, port })).reason, "ConnectRefused");
      assert.equal(trap.connections, 0);
    } finally {
      await trap.close();
    }
  });
});
