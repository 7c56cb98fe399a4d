import { networkInterfaces } from "node:os";
import { performance } from "node:perf_hooks";
import { type Clock, systemClock } from "../machine/retry";
import { probeProxy } from "./probe";
import type { ProbeEnvironment, ProbeReport, ProbeRequest } from "./report";
import { Slots } from "./slots";

/** What the lifecycle takes from outside. */
export interface ProxyCheckEnvironment {
  probe(request: ProbeRequest): Promise<ProbeReport>;
  clock: Clock;
  /** From 0 up to 1, as `Math.random`: spreads the pauses so that checks do not march in step. */
  random(): number;
}

/** Probes at once in this process: more would only wait for each other, and look like an attack to the target. */
const MAX_PROBES = 16;

const slots = new Slots(MAX_PROBES);

export const systemProbeEnvironment: ProbeEnvironment = {
  localAddresses: () =>
    Object.entries(networkInterfaces()).flatMap(([interfaceName, addresses = []]) =>
      // A link-local IPv6 address means nothing without its scope.
      addresses
        .filter(({ scopeid }) => scopeid === undefined || scopeid === 0)
        .map(({ address }) => ({ address, interfaceName })),
    ),
  monotonicMs: () => performance.now(),
};

/** The real one; all of them in a process share one bound on concurrent probes. */
export function systemProxyCheckEnvironment(
  probeEnvironment: ProbeEnvironment = systemProbeEnvironment,
): ProxyCheckEnvironment {
  return {
    probe: (request) => slots.run(() => probeProxy(request, probeEnvironment)),
    clock: systemClock,
    random: Math.random,
  };
}
