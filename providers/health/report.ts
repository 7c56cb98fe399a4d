import type { LocalAddress } from "./addresses";
import type { ProbeFailure } from "./reasons";
import type { ProxyCheckInputs } from "./spec";

/** What one probe needs to know. */
export type ProbeRequest = Pick<
  ProxyCheckInputs,
  "name" | "host" | "port" | "target" | "allowedClients" | "timeoutSeconds"
>;

/** What a probe takes from the machine it runs on. */
export interface ProbeEnvironment {
  /** This machine's addresses; one outside `allowedClients` plays the stranger. */
  localAddresses(): readonly LocalAddress[];
  /** A clock that never jumps, in milliseconds. */
  monotonicMs(): number;
  /** PEM certificates to trust for the target instead of Node's own. */
  ca?: string;
}

/** The stages in the order in which they run; the first that fails ends the probe. */
export type StageName = "tcp" | "outsider" | "privateDestination" | "target";

export type StageResult = {
  stage: StageName;
  /** How long it took, in milliseconds. */
  ms: number;
} & (
  | { outcome: "passed" }
  /** It could not be tried from here; `detail` says why. */
  | { outcome: "skipped"; detail: string; warning?: string }
  | { outcome: "failed"; reason: ProbeFailure; detail: string }
);

export interface ProbeReport {
  stages: StageResult[];
  /** Reason of the first failed stage, else `Ready`. */
  reason: ProbeFailure | "Ready";
  /** One sentence for people; the same for the same finding, so that it can stand in state. */
  message: string;
  /** From dialling the proxy to the head of the target's answer, in milliseconds; absent without an answer. */
  latencyMs?: number;
}

/** Ends a stage: thrown inside the probe, and turned into a StageResult by it. */
export class StageFailure extends Error {
  constructor(
    readonly reason: ProbeFailure,
    /** What was seen, as a sentence without its full stop. */
    readonly detail: string,
  ) {
    super(`${reason}: ${detail}`);
    this.name = "StageFailure";
  }
}

/** `10.0.0.5:3128`, `[2001:db8::5]:3128`. */
export function endpoint(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `web-1 (10.0.0.5:3128)`, as it stands in every message. */
export function title({ name, host, port }: Pick<ProbeRequest, "name" | "host" | "port">): string {
  return host === "" ? name : `${name} (${endpoint(host, port)})`;
}
