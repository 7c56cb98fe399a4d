import { parse } from "yaml";
import { labNumberOf } from "../lab/addresses";

/** What the demo reads from Pulumi.dev.yaml. The program itself validates the whole of it. */
export interface DemoConfig {
  /** Address of the first KVM host. */
  host: string | undefined;
  /** Set if that host is the lab's, which the demo then starts. */
  labNumber: number | undefined;
  /** What to request through the proxies of each pool. */
  checks: Map<string, { url: string; expectedStatus: number }>;
}

/** As in the config's own defaults: a pool may leave its health check out. */
const DEFAULT_CHECK = { url: "http://cp.cloudflare.com/generate_204", expectedStatus: 204 };

export function demoConfig(stackFile: string): DemoConfig {
  const config = record(record(parse(stackFile)).config);
  const host = Object.values(record(config["egress:providers"]))
    .flatMap((provider) => list(record(provider).hosts))
    .map((entry) => record(entry).address)
    .find((address) => typeof address === "string");
  const checks = Object.entries(record(config["egress:pools"])).map(([pool, value]) => {
    const check = record(record(value).healthCheck);
    const url = typeof check.url === "string" ? check.url : DEFAULT_CHECK.url;
    const status =
      typeof check.expectedStatus === "number" ? check.expectedStatus : DEFAULT_CHECK.expectedStatus;
    return [pool, { url, expectedStatus: status }] as const;
  });
  return {
    host,
    labNumber: host === undefined ? undefined : labNumberOf(host),
    checks: new Map(checks),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
