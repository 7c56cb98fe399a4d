import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { systemProxyCheckEnvironment } from "@egress-proxies/providers/health/environment";
import { createProxyCheckLifecycle } from "@egress-proxies/providers/health/lifecycle";
import { REASONS } from "@egress-proxies/providers/health/reasons";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import type { RunContext } from "@egress-proxies/providers/pulumi/backend";
import { InitFailedError } from "@egress-proxies/providers/pulumi/init-failed";
import { TestProxy } from "./proxy";
import { close, listen } from "./server";
import { TestTarget } from "./target";

const lifecycle = createProxyCheckLifecycle(
  systemProxyCheckEnvironment({
    localAddresses: () => [
      { address: "127.0.0.1", interfaceName: "lo" },
      { address: "127.0.0.2", interfaceName: "lo" },
    ],
    monotonicMs: () => performance.now(),
  }),
);

function quiet(progress: (message: string) => void = () => {}): RunContext {
  return { signal: new AbortController().signal, progress, warn: () => {} };
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await close(server, new Set());
  return port;
}

describe("proxyCheck with a real proxy", () => {
  let target: TestTarget;
  let proxy: TestProxy;
  let inputs: ProxyCheckInputs;

  beforeEach(async () => {
    target = new TestTarget();
    proxy = new TestProxy({ names: { "target.test": await target.listen() } });
    inputs = {
      name: "web-1",
      host: "127.0.0.1",
      port: await freePort(),
      generation: "g1",
      target: { url: "http://target.test/204", expectedStatus: 204 },
      allowedClients: ["127.0.0.1/32"],
      wait: "ready",
      waitTimeoutSeconds: 10,
      intervalSeconds: 0.05,
      timeoutSeconds: 1,
      failureThreshold: 3,
      recoveryThreshold: 2,
    };
  });
  afterEach(() => Promise.all([proxy.close(), target.close()]));

  it("create waits for a proxy that comes up late", async () => {
    const told: string[] = [];
    const { outputs } = await lifecycle.create(
      inputs,
      quiet((message) => {
        told.push(message);
        if (told.length === 1) void proxy.listen(inputs.port);
      }),
    );
    assert.equal(outputs.ready, true);
    assert.match(told[0] ?? "", /ConnectRefused: web-1 \(127\.0\.0\.1:\d+\)/);
  });

  it("create ends in time with the reason where none comes up", async () => {
    await assert.rejects(
      lifecycle.create({ ...inputs, waitTimeoutSeconds: 2 }, quiet()),
      (error) => error instanceof InitFailedError && /^ConnectRefused: /.test(error.reasons.join()),
    );
  });

  it("read follows a proxy that dies and comes back", async () => {
    await proxy.listen(inputs.port);
    const { id, outputs } = await lifecycle.create(inputs, quiet());
    assert.equal(await lifecycle.read(id, outputs, quiet()), outputs);
    await proxy.close();
    let lost: unknown;
    await assert.rejects(lifecycle.read(id, outputs, quiet()), (error) => {
      assert.ok(error instanceof InitFailedError);
      assert.equal(error.properties.reason, "ConnectRefused");
      lost = error.properties;
      return true;
    });
    await proxy.listen(inputs.port);
    const healed = await lifecycle.read(id, lost as typeof outputs, quiet());
    assert.equal(healed?.ready, true);
    assert.equal(healed?.message, outputs.message);
    assert.ok(lifecycle.diff(healed!, inputs).changes === false);
  });

  it("wait none opens no connection", async () => {
    let connections = 0;
    await proxy.close();
    proxy = new TestProxy({ onConnection: () => connections++ });
    await proxy.listen(inputs.port);
    const silent: ProxyCheckInputs = { ...inputs, wait: "none" };
    const { id, outputs } = await lifecycle.create(silent, quiet());
    await lifecycle.read(id, outputs, quiet());
    await lifecycle.update(id, outputs, silent, quiet());
    assert.equal(connections, 0);
  });

  it("bounds the probes that a process runs at once", async () => {
    let open = 0;
    let most = 0;
    await proxy.close();
    proxy = new TestProxy({
      misbehave: (socket) => {
        most = Math.max(most, ++open);
        socket.on("close", () => open--);
      },
    });
    await proxy.listen(inputs.port);
    const hasty = { ...inputs, allowedClients: [], timeoutSeconds: 0.3, waitTimeoutSeconds: 0.5 };
    const reasons = await Promise.all(
      Array.from({ length: 60 }, () =>
        lifecycle.create(hasty, quiet()).catch((error: InitFailedError) => error.properties.reason),
      ),
    );
    assert.deepEqual(new Set(reasons), new Set(["ResponseTimeout"]));
    // The bound is 16; the proxy learns of a closed connection a moment later than the next probe starts.
    assert.ok(most > 8 && most <= 32, `${most}`);
  });
});

describe("docs/reasons.md", () => {
  it("explains every reason that a check can end in", () => {
    const text = readFileSync(join(process.cwd(), "docs/reasons.md"), "utf8");
    const missing = REASONS.filter((reason) => !text.includes(`| \`${reason}\` |`));
    assert.deepEqual(missing, []);
  });
});
