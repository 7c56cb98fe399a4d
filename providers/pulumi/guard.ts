import type { dynamic } from "@pulumi/pulumi";
import { EgressError } from "../machine/errors";
import type { Backend, RunContext } from "./backend";
import type { Engine } from "./engine";
import { EngineError, EngineInitFailed, EngineReadInitFailed } from "./engine-error";
import { InitFailedError } from "./init-failed";
import { nonJsonPath } from "./json";

type Bag = Record<string, unknown>;

/**
 * Stands between the SDK's dynamic-provider process and a backend: takes
 * `__provider` away from it, makes sure that only JSON goes back, and lets no
 * error through that the engine would misread (a numeric `code` would become a
 * gRPC status) or print with its stack.
 */
export function guard<I extends object, O extends object>(
  backend: Backend<I, O>,
  engine: Engine,
): dynamic.ResourceProvider {
  /** What touches the world: while it is at work the process stays, also when the run is over. */
  const operate = <T>(work: (run: RunContext) => Promise<T>) => engine.during(() => work(context(engine)));
  return {
    async check(olds: Bag, news: Bag) {
      const old = without(olds) as Partial<I>;
      const inputs = without(news) as I;
      const failures = backend.check(Object.keys(old).length === 0 ? undefined : old, inputs);
      return { inputs, failures };
    },
    async diff(_id, olds: Bag, news: Bag) {
      const { changes, replaces } = await translated(async () =>
        backend.diff(without(olds) as O, without(news) as I),
      );
      return { changes, replaces, deleteBeforeReplace: true };
    },
    async create(inputs: Bag) {
      return translated(async () => {
        const { id, outputs } = await operate((run) => backend.create(without(inputs) as I, run));
        return { id, outs: clean(outputs) };
      }, inputs.__provider);
    },
    async read(id, props: Bag = {}) {
      const outputs = await translated(
        () => operate((run) => backend.read(id, without(props) as O, run)),
        props.__provider,
        EngineReadInitFailed,
      );
      // An empty answer is how "absent" is said; the SDK takes the fields from the object.
      return outputs === undefined ? {} : { id, props: clean(outputs) };
    },
    async update(id, olds: Bag, news: Bag) {
      return translated(
        async () => ({
          outs: clean(
            await operate((run) => backend.update(id, without(olds) as O, without(news) as I, run)),
          ),
        }),
        news.__provider,
      );
    },
    async delete(id, props: Bag) {
      await translated(() => operate((run) => backend.delete(id, without(props) as O, run)));
    },
  };
}

function context(engine: Engine): RunContext {
  return {
    signal: engine.signal,
    progress: (message) => engine.log("info", message, true),
    warn: (message) => engine.log("warning", message, false),
  };
}

function without(props: Bag): Bag {
  const { __provider, ...rest } = props;
  return rest;
}

function clean(outputs: object): Bag {
  const path = nonJsonPath(outputs);
  if (path !== undefined) throw new Error(`a backend returned something that is not JSON at ${path}`);
  return outputs as Bag;
}

async function translated<T>(
  work: () => Promise<T>,
  providerText?: unknown,
  InitFailed: typeof EngineInitFailed | typeof EngineReadInitFailed = EngineInitFailed,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InitFailedError) {
      clean(error.properties);
      throw new InitFailed(error, providerText);
    }
    throw new EngineError(messageOf(error));
  }
}

function messageOf(error: unknown): string {
  // The reason first, as a proxy's check says it: the word to look up in docs/reasons.md.
  if (error instanceof EgressError) return `${error.reason}: ${error.message}`;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return `unexpected ${what}. This is a fault of egress-proxies itself: report it with this line`;
}
