import assert from "node:assert/strict";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import type { Backend } from "@egress-proxies/providers/pulumi/backend";
import { noEngine } from "@egress-proxies/providers/pulumi/engine";
import { guard } from "@egress-proxies/providers/pulumi/guard";
import { InitFailedError } from "@egress-proxies/providers/pulumi/init-failed";

interface Props {
  size: number;
}

function guarded(overrides: Partial<Backend<Props, Props>>) {
  const backend: Backend<Props, Props> = {
    check: () => [],
    diff: () => ({ changes: false, replaces: [] }),
    create: async (inputs) => ({ id: "a", outputs: inputs }),
    read: async (_id, outputs) => outputs,
    update: async (_id, _olds, news) => news,
    delete: async () => {},
    ...overrides,
  };
  return guard(backend, noEngine);
}

const props = { size: 1, __provider: "text" };

async function thrown(work: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await work;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new assert.AssertionError({ message: "nothing was thrown" });
}

describe("guard", () => {
  it("keeps __provider from the backend", async () => {
    let seen: object | undefined;
    await guarded({
      create: async (inputs) => {
        seen = inputs;
        return { id: "a", outputs: inputs };
      },
    }).create(props);
    assert.deepEqual(seen, { size: 1 });
  });

  it("says absent with an empty answer", async () => {
    assert.deepEqual(await guarded({ read: async () => undefined }).read!("a", props), {});
  });

  it("passes reason and message on without code and without stack", async () => {
    const fault = new PermanentError({
      reason: "PoolMissing",
      where: "host a",
      message: "no pool",
      remedy: "Define it",
    });
    Object.assign(fault, { code: 42 });
    const error = await thrown(guarded({ create: () => Promise.reject(fault) }).create(props));
    assert.equal(error.message, "PoolMissing: host a: no pool. Define it");
    assert.equal(error.code, undefined);
    assert.equal(`${error}: ${error.stack}`, ": ");
  });

  it("says of any other error that it is the project's own fault", async () => {
    const error = await thrown(
      guarded({ create: () => Promise.reject(new TypeError("x is not")) }).create(props),
    );
    assert.match(error.message, /^unexpected TypeError: x is not\. .*report it/);
  });

  it("gives the engine an id, properties with __provider, and reasons for what is there but not well", async () => {
    const failure = new InitFailedError("a", { size: 1 }, ["is stopped"]);
    const error = await thrown(guarded({ update: () => Promise.reject(failure) }).update!("a", props, props));
    assert.equal(error.id, "a");
    assert.deepEqual(error.properties, props);
    assert.deepEqual(error.reasons, ["is stopped"]);
  });

  it("packs the same into a gRPC status for read", async () => {
    const failure = new InitFailedError("a", { size: 1 }, ["is stopped"]);
    const error = await thrown(guarded({ read: () => Promise.reject(failure) }).read!("a", props));
    assert.equal(error.code, 2);
    const metadata = error.metadata as { get(key: string): Buffer[] };
    assert.match(
      metadata.get("grpc-status-details-bin")[0]!.toString("latin1"),
      /ErrorResourceInitFailed.*is stopped/s,
    );
  });

  for (const [what, value] of Object.entries({
    undefined,
    "a Buffer": Buffer.from("x"),
    "a bigint": 1n,
    NaN: Number.NaN,
    "a Map": new Map(),
  })) {
    it(`refuses ${what} in outputs and names the path`, async () => {
      const outputs = { size: 1, deep: [{ value }] } as Props;
      const error = await thrown(guarded({ create: async () => ({ id: "a", outputs }) }).create(props));
      assert.match(error.message, /outputs\.deep\[0\]\.value/);
    });
  }
});
