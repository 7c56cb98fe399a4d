import { strict as assert } from "node:assert";
import { createProxyCheckLifecycle } from "@egress-proxies/providers/health/lifecycle";
import { TransientError } from "@egress-proxies/providers/machine/errors";
import { InitFailedError } from "@egress-proxies/providers/pulumi/init-failed";
import { nonJsonPath } from "@egress-proxies/providers/pulumi/json";
import { fake, inputs, recorder, START, state } from "./fixtures";

const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();

async function initFailure(work: Promise<unknown>): Promise<InitFailedError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof InitFailedError, String(error));
    assert.equal(nonJsonPath(error.properties), undefined);
    return error;
  }
  return assert.fail("nothing was thrown");
}

describe("proxyCheck create", () => {
  it("waits until the proxy passes, then says ready", async () => {
    const { env, elapsed } = fake(["ConnectRefused", "ConnectRefused", "Ready"]);
    const { id, outputs } = await createProxyCheckLifecycle(env).create(inputs(), recorder().run);
    assert.equal(id, "web-1");
    assert.deepEqual(outputs, {
      ...inputs(),
      ready: true,
      reason: "Ready",
      message: "it is Ready",
      lastTransitionTime: at(10),
    });
    assert.equal(elapsed(), 10_000);
    assert.equal(nonJsonPath(outputs), undefined);
  });

  it("gives up after waitTimeoutSeconds with the last reason, kept in state", async () => {
    const { env, elapsed } = fake(["ConnectRefused", "AccessDenied"], { probeMs: 1000 });
    const failure = await initFailure(createProxyCheckLifecycle(env).create(inputs(), recorder().run));
    assert.equal(failure.id, "web-1");
    assert.deepEqual(failure.reasons, ["AccessDenied: it is AccessDenied"]);
    const { ready, reason } = failure.properties;
    assert.deepEqual({ ready, reason }, { ready: false, reason: "AccessDenied" });
    assert.ok(elapsed() > 50_000 && elapsed() <= 60_000, `${elapsed()}`);
  });

  it("never gives one attempt more time than is left", async () => {
    const { env, requests } = fake(["ConnectTimeout"], { probeMs: 8000 });
    await initFailure(
      createProxyCheckLifecycle(env).create(inputs({ waitTimeoutSeconds: 20 }), recorder().run),
    );
    assert.deepEqual(
      requests.map(({ timeoutSeconds }) => timeoutSeconds),
      [10, 7],
    );
  });

  it("tells a new reason at once and the same one every 15 s at most", async () => {
    const { env } = fake([...Array(8).fill("ConnectRefused"), "AccessDenied", "Ready"]);
    const { run, progress } = recorder();
    await createProxyCheckLifecycle(env).create(inputs(), run);
    assert.deepEqual(
      progress.map((line) => line.split(":")[1]?.trim()),
      ["ConnectRefused", "ConnectRefused", "ConnectRefused", "AccessDenied"],
    );
  });

  it("takes up to a fifth off each pause by chance", async () => {
    const { env, sleeps } = fake(["ConnectRefused", "Ready"], { random: 0.5 });
    await createProxyCheckLifecycle(env).create(inputs(), recorder().run);
    assert.deepEqual(sleeps, [4500]);
  });

  it("does not look with wait none", async () => {
    const { env, requests } = fake([]);
    const { outputs } = await createProxyCheckLifecycle(env).create(inputs({ wait: "none" }), recorder().run);
    assert.equal(outputs.ready, false);
    assert.equal(outputs.reason, "NotChecked");
    assert.equal(requests.length, 0);
  });

  it("says NoAddress at once where there is none", async () => {
    const { env } = fake([]);
    const failure = await initFailure(
      createProxyCheckLifecycle(env).create(inputs({ host: "" }), recorder().run),
    );
    assert.match(failure.reasons.join(), /^NoAddress: web-1 has no address/);
  });

  it("stops waiting when the run ends", async () => {
    const { env } = fake(["ConnectRefused"]);
    const end = new AbortController();
    env.clock.sleep = async () => {
      end.abort();
      await new Promise(() => {});
    };
    await assert.rejects(
      createProxyCheckLifecycle(env).create(inputs(), recorder(end.signal).run),
      (error) => error instanceof TransientError && error.reason === "Interrupted",
    );
  });
});

describe("proxyCheck update", () => {
  const unwell = state({ ready: false, reason: "ConnectRefused" });

  it("keeps the time of the last transition while nothing flips", async () => {
    const { env } = fake(["Ready"]);
    const olds = state();
    const outputs = await createProxyCheckLifecycle(env).update(
      "web-1",
      olds,
      inputs({ intervalSeconds: 9 }),
      recorder().run,
    );
    assert.equal(outputs.lastTransitionTime, olds.lastTransitionTime);
    assert.equal(outputs.intervalSeconds, 9);
  });

  it("asks an unwell proxy for recoveryThreshold passes in a row", async () => {
    const { env, requests } = fake(["Ready", "ConnectRefused", "Ready", "Ready"]);
    const outputs = await createProxyCheckLifecycle(env).update("web-1", unwell, inputs(), recorder().run);
    assert.equal(requests.length, 4);
    assert.equal(outputs.ready, true);
    assert.equal(outputs.lastTransitionTime, at(15));
  });

  it("asks a rebuilt one for a single pass", async () => {
    const { env, requests } = fake(["Ready"]);
    await createProxyCheckLifecycle(env).update(
      "web-1",
      unwell,
      inputs({ generation: "g2" }),
      recorder().run,
    );
    assert.equal(requests.length, 1);
  });

  it("says what it suffered from when time runs out while it recovers", async () => {
    const { env } = fake(["Ready"], { probeMs: 1000 });
    const news = inputs({ recoveryThreshold: 50 });
    const failure = await initFailure(
      createProxyCheckLifecycle(env).update("web-1", unwell, news, recorder().run),
    );
    assert.equal(failure.properties.reason, "ConnectRefused");
    assert.equal(failure.properties.lastTransitionTime, unwell.lastTransitionTime);
  });

  it("turns to NotChecked when told to look no more", async () => {
    const outputs = await createProxyCheckLifecycle(fake([]).env).update(
      "web-1",
      state(),
      inputs({ wait: "none" }),
      recorder().run,
    );
    assert.equal(outputs.reason, "NotChecked");
    assert.equal(outputs.lastTransitionTime, at(0));
  });
});

describe("proxyCheck read", () => {
  it("gives a healthy proxy's state back as it is, also after a stumble", async () => {
    for (const outcomes of [["Ready"], ["ConnectTimeout", "ConnectTimeout", "Ready"]] as const) {
      const { env } = fake([...outcomes]);
      const props = state();
      assert.equal(await createProxyCheckLifecycle(env).read("web-1", props, recorder().run), props);
    }
  });

  it("calls a ready proxy unready only after failureThreshold failures", async () => {
    const { env, requests, elapsed } = fake(["ConnectRefused"]);
    const failure = await initFailure(createProxyCheckLifecycle(env).read("web-1", state(), recorder().run));
    assert.equal(requests.length, 3);
    assert.equal(elapsed(), 4000);
    assert.deepEqual(failure.reasons, ["ConnectRefused: it is ConnectRefused"]);
    assert.equal(failure.properties.ready, false);
    assert.equal(failure.properties.lastTransitionTime, at(4));
    assert.equal(failure.properties.generation, "g1");
  });

  it("keeps a ready proxy with a warning while the target is to blame", async () => {
    const { env, requests } = fake(["TargetUnreachable"]);
    const { run, warnings } = recorder();
    const props = state();
    assert.equal(await createProxyCheckLifecycle(env).read("web-1", props, run), props);
    assert.equal(requests.length, 3);
    assert.match(warnings.join(), /web-1 is still taken for ready.*TargetUnreachable/);
  });

  it("keeps an unready one unready while the target is to blame", async () => {
    const props = state({ ready: false, reason: "AccessDenied", message: "refused" });
    const { run, warnings } = recorder();
    const failure = await initFailure(
      createProxyCheckLifecycle(fake(["TargetUnreachable"]).env).read("web-1", props, run),
    );
    assert.deepEqual(failure.properties, { ...props });
    assert.deepEqual(failure.reasons, ["AccessDenied: refused"]);
    assert.match(warnings.join(), /still taken for unready/);
  });

  it("heals an unready one after recoveryThreshold passes", async () => {
    const { env, requests } = fake(["Ready"]);
    const props = state({ ready: false, reason: "AccessDenied" });
    const outputs = await createProxyCheckLifecycle(env).read("web-1", props, recorder().run);
    assert.equal(requests.length, 2);
    assert.equal(outputs?.ready, true);
    assert.equal(outputs?.reason, "Ready");
    assert.equal(outputs?.lastTransitionTime, at(2));
  });

  it("asks an unready one that still fails only once, and keeps its transition time", async () => {
    const { env, requests } = fake(["Blocked"]);
    const props = state({ ready: false, reason: "AccessDenied" });
    const failure = await initFailure(createProxyCheckLifecycle(env).read("web-1", props, recorder().run));
    assert.equal(requests.length, 1);
    assert.equal(failure.properties.reason, "Blocked");
    assert.equal(failure.properties.lastTransitionTime, props.lastTransitionTime);
  });

  it("does not look with wait none", async () => {
    const props = state({ wait: "none", ready: false, reason: "NotChecked" });
    assert.equal(await createProxyCheckLifecycle(fake([]).env).read("web-1", props, recorder().run), props);
  });

  it("says NoAddress without a connection", async () => {
    const failure = await initFailure(
      createProxyCheckLifecycle(fake([]).env).read("web-1", state({ host: "" }), recorder().run),
    );
    assert.equal(failure.properties.reason, "NoAddress");
  });
});
