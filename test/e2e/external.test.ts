import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { TestProxy } from "../integration/health/proxy";
import { TestTarget } from "../integration/health/target";
import { lab } from "./lab";
import { Stack } from "./stack";

const ENDPOINTS = resolve(__dirname, "../../tools/endpoints/main.js");

/** Proxies that somebody else runs, and what a crawler reads of them. Steps build on each other. */
describe("external proxies", function () {
  this.timeout(120_000);
  this.bail(true);
  const name = `x${process.pid}`;
  const target = new TestTarget();
  let proxy: TestProxy;
  let port: number;
  let stack: Stack;

  const out = (more: object = {}) => ({
    mode: "External",
    members: { a: { endpoint: { host: "127.0.0.1", port } } },
    // What the checks need of time is tested elsewhere.
    healthCheck: {
      url: "http://target.example/",
      intervalSeconds: 1,
      timeoutSeconds: 2,
      failureThreshold: 1,
      waitTimeoutSeconds: 5,
    },
    ...more,
  });
  const configure = (pool: object) =>
    stack.configure({ providers: { lab: lab.entry() }, pools: { out: pool } });

  /** `npm run endpoints`, from outside of the stack's folder. */
  const endpoints = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      const options = { env: stack.environment() };
      execFile(process.execPath, [ENDPOINTS, "--stack", name, ...args], options, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  before(async () => {
    const names = { "target.example": await target.listen() };
    proxy = new TestProxy({ names });
    port = await proxy.listen();
    stack = new Stack(name);
    await stack.init();
  });
  after(async () => {
    await stack.destroy();
    stack.dispose();
    await proxy.close();
    await target.close();
  });

  it("are checked and given out, and nothing is made for them", async () => {
    configure(out());
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
    assert.ok(target.connections > 0, "the target was asked through the proxy");
    assert.doesNotMatch(await stack.exported(), /Machine/);
    const again = await stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
    assert.equal(again.code, 0, again.text);
  });

  it("are read again without a deployment, in every format", async () => {
    const url = `http://127.0.0.1:${port}`;
    assert.deepEqual(await endpoints(), { code: 0, stdout: `${url}\n`, stderr: "" });
    assert.equal(
      (await endpoints("--format", "env")).stdout,
      `EGRESS_PROXIES=${url}\nEGRESS_PROXIES_OUT=${url}\n`,
    );
    const [found] = JSON.parse((await endpoints("--format", "json")).stdout) as unknown[];
    assert.deepEqual(found, {
      name: `${name}-out-a`,
      pool: "out",
      mode: "External",
      provider: "",
      host: "",
      url,
      ip: "127.0.0.1",
      port,
      maxLeases: 5,
      labels: {},
      ready: true,
      reason: "Ready",
    });
  });

  it("are asked for in words that are not known: what is possible is said", async () => {
    const pool = await endpoints("--pool", "crawl");
    assert.deepEqual([pool.code, pool.stdout], [1, ""]);
    assert.match(pool.stderr, /pools that there are: out/);
    const format = await endpoints("--format", "yaml");
    assert.deepEqual([format.code, format.stdout], [1, ""]);
    assert.match(format.stderr, /there is no format yaml.*urls\|json\|env/);
  });

  it("do not become machines in place", async () => {
    configure({
      provider: "lab",
      members: { a: null },
      placement: { image: "guest" },
      cloudInit: { inline: "#cloud-config\n" },
    });
    const { code, text } = await stack.up();
    assert.notEqual(code, 0, text);
    assert.match(text, new RegExp(`egress:pools\\.out\\.mode: ${name}-out-a is External`));
    assert.match(text, /To move: add a pool of another name/);
    assert.deepEqual(await lab.holds(`${name}-`), { domains: [], volumes: [] });
    configure(out());
  });

  it("are gone for a crawler once they fail their check, with an error instead of an empty list", async () => {
    await proxy.close();
    const refresh = await stack.refresh();
    assert.match(refresh.text, /ConnectRefused/);
    await stack.up();
    const { code, stdout, stderr } = await endpoints();
    assert.deepEqual([code, stdout], [1, ""], stderr);
    assert.match(stderr, /NoEndpoints.*none of 1 proxies is ready/);
    const all = await endpoints("--all");
    assert.deepEqual([all.code, all.stdout], [0, `http://127.0.0.1:${port}\n`]);
  });
});
