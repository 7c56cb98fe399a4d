import type { Backend, RunContext } from "../pulumi/backend";
import { checkInputs } from "./check";
import { diffInputs } from "./diff";
import type { ProxyCheckEnvironment } from "./environment";
import { observe } from "./observe";
import { REMEDIES } from "./reasons";
import { title } from "./report";
import type { ProxyCheckInputs } from "./spec";
import { type Finding, notReady, type ProxyCheckState, withFinding } from "./state";
import { type Recovery, waitUntilReady } from "./wait";

/**
 * The `proxyCheck` backend. It owns nothing outside of the state: deleting a
 * check does nothing, and a check that fails is kept there as "init failed", so
 * that the next `up` looks again.
 */
export function createProxyCheckLifecycle(
  env: ProxyCheckEnvironment,
): Backend<ProxyCheckInputs, ProxyCheckState> {
  const settle = async (
    id: string,
    inputs: ProxyCheckInputs,
    previous: ProxyCheckState | undefined,
    run: RunContext,
  ): Promise<ProxyCheckState> => {
    const finding = await ensure(env, inputs, previous, run);
    const state = withFinding(inputs, previous, finding, env.clock.now());
    if (!state.ready && inputs.wait === "ready") throw notReady(id, state);
    return state;
  };

  return {
    check: (_olds, news) => checkInputs(news),
    diff: diffInputs,
    async create(inputs, run) {
      return { id: inputs.name, outputs: await settle(inputs.name, inputs, undefined, run) };
    },
    update: (id, olds, news, run) => settle(id, news, olds, run),
    async read(id, state, run) {
      if (state.wait === "none") return state;
      const finding = state.host === "" ? noAddress(state) : await observe(env, state, run);
      if (finding === "unchanged") {
        if (state.ready) return state;
        throw notReady(id, state);
      }
      const found = withFinding(state, state, finding, env.clock.now());
      if (!found.ready) throw notReady(id, found);
      return found;
    },
    async delete() {},
  };
}

async function ensure(
  env: ProxyCheckEnvironment,
  inputs: ProxyCheckInputs,
  previous: ProxyCheckState | undefined,
  run: RunContext,
): Promise<Finding> {
  if (inputs.wait === "none") {
    const message = `${title(inputs)} is not checked. ${REMEDIES.NotChecked}`;
    return { ready: false, reason: "NotChecked", message };
  }
  if (inputs.host === "") return noAddress(inputs);
  return waitUntilReady(env, inputs, recoveryOf(inputs, previous), run);
}

function noAddress(inputs: ProxyCheckInputs): Finding {
  const message = `${inputs.name} has no address. ${REMEDIES.NoAddress}`;
  return { ready: false, reason: "NoAddress", message };
}

/** A proxy that was found unwell has to recover; one never seen, or rebuilt, starts with a clean sheet. */
function recoveryOf(inputs: ProxyCheckInputs, previous: ProxyCheckState | undefined): Recovery | undefined {
  if (previous === undefined || previous.ready || previous.reason === "NotChecked") return undefined;
  const sameProxy =
    previous.host === inputs.host &&
    previous.port === inputs.port &&
    previous.generation === inputs.generation;
  if (!sameProxy) return undefined;
  const { reason, message } = previous;
  return { passes: inputs.recoveryThreshold, finding: { ready: false, reason, message } };
}
