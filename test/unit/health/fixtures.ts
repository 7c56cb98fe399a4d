import type { ProxyCheckEnvironment } from "@egress-proxies/providers/health/environment";
import type { ProbeFailure } from "@egress-proxies/providers/health/reasons";
import type { ProbeReport, ProbeRequest } from "@egress-proxies/providers/health/report";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import type { ProxyCheckState } from "@egress-proxies/providers/health/state";
import type { RunContext } from "@egress-proxies/providers/pulumi/backend";

export const START = Date.UTC(2030, 0, 1);

export function inputs(changes: Partial<ProxyCheckInputs> = {}): ProxyCheckInputs {
  return {
    name: "web-1",
    host: "192.0.2.5",
    port: 3128,
    generation: "g1",
    target: { url: "https://target.example/204", expectedStatus: 204 },
    allowedClients: ["198.51.100.0/24"],
    wait: "ready",
    waitTimeoutSeconds: 60,
    intervalSeconds: 5,
    timeoutSeconds: 10,
    failureThreshold: 3,
    recoveryThreshold: 2,
    ...changes,
  };
}

export function state(changes: Partial<ProxyCheckState> = {}): ProxyCheckState {
  return {
    ...inputs(),
    ready: true,
    reason: "Ready",
    message: "was fine",
    lastTransitionTime: "2029-12-31T00:00:00.000Z",
    ...changes,
  };
}

export type Outcome = "Ready" | ProbeFailure;

export function report(reason: Outcome): ProbeReport {
  const message = `it is ${reason}`;
  if (reason === "Ready") {
    return { stages: [{ stage: "target", outcome: "passed", ms: 7 }], reason, message, latencyMs: 7 };
  }
  return {
    stages: [{ stage: "target", outcome: "failed", ms: 7, reason, detail: message }],
    reason,
    message,
  };
}

/** An environment on a clock of its own: sleeping moves it, and probing costs `probeMs`. */
export function fake(outcomes: Outcome[], { probeMs = 0, random = 0 } = {}) {
  let now = START;
  const requests: ProbeRequest[] = [];
  const sleeps: number[] = [];
  const env: ProxyCheckEnvironment = {
    async probe(request) {
      requests.push(request);
      now += probeMs;
      // The last outcome holds on.
      const outcome = outcomes[Math.min(requests.length, outcomes.length) - 1];
      if (outcome === undefined) throw new Error("probed, although nothing should be probed");
      return report(outcome);
    },
    clock: {
      now: () => now,
      async sleep(ms) {
        sleeps.push(ms);
        now += ms;
      },
    },
    random: () => random,
  };
  return { env, requests, sleeps, elapsed: () => now - START };
}

export function recorder(signal: AbortSignal = new AbortController().signal) {
  const progress: string[] = [];
  const warnings: string[] = [];
  const run: RunContext = {
    signal,
    progress: (message) => progress.push(message),
    warn: (message) => warnings.push(message),
  };
  return { run, progress, warnings };
}
