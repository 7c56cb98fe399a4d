import { type CheckFailure, UNKNOWN } from "../pulumi/backend";
import { parseCidr } from "./addresses";
import type { ProxyCheckInputs } from "./spec";

/** What is wrong with a value, or undefined where it is fine. */
type Rule = (value: unknown) => string | undefined;

/** Host names and addresses; empty while a machine has none. No port, no scheme. */
const HOST = /^[A-Za-z0-9._:-]*$/;

const RULES: Record<keyof Omit<ProxyCheckInputs, "target" | "allowedClients">, Rule> = {
  name: (value) =>
    typeof value === "string" && value !== "" ? undefined : "must be a text that is not empty",
  host: (value) =>
    typeof value === "string" && HOST.test(value)
      ? undefined
      : "must be a host name or an address, without a port",
  port: wholeNumber(1, 65535),
  generation: (value) => (typeof value === "string" ? undefined : "must be a text"),
  wait: (value) => (value === "ready" || value === "none" ? undefined : 'must be "ready" or "none"'),
  waitTimeoutSeconds: seconds,
  intervalSeconds: seconds,
  timeoutSeconds: seconds,
  failureThreshold: wholeNumber(1, 100),
  recoveryThreshold: wholeNumber(1, 100),
};

/** Every failure at once, each with its path. Values that a preview does not know yet pass. */
export function checkInputs(news: ProxyCheckInputs): CheckFailure[] {
  const failures: CheckFailure[] = [];
  const apply = (property: string, value: unknown, rule: Rule) => {
    if (value === UNKNOWN) return;
    const reason = rule(value);
    if (reason !== undefined) failures.push({ property, reason });
  };
  for (const [property, rule] of Object.entries(RULES)) {
    apply(property, (news as unknown as Record<string, unknown>)[property], rule);
  }
  apply("target", news.target, (value) =>
    typeof value === "object" && value !== null ? undefined : "must hold url and expectedStatus",
  );
  if (typeof news.target === "object" && news.target !== null) {
    apply("target.url", news.target.url, url);
    // 1xx is never final, so it can never be what an answer ends in.
    apply("target.expectedStatus", news.target.expectedStatus, wholeNumber(200, 599));
  }
  apply("allowedClients", news.allowedClients, (value) =>
    Array.isArray(value) ? undefined : "must be a list of CIDRs",
  );
  if (Array.isArray(news.allowedClients)) {
    for (const [i, cidr] of news.allowedClients.entries()) apply(`allowedClients[${i}]`, cidr, cidrRule);
  }
  return failures;
}

function wholeNumber(min: number, max: number): Rule {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
      ? undefined
      : `must be a whole number from ${min} to ${max}`;
}

/** At most a day: Node's timers turn longer ones into 1 ms beyond 24.8 days. */
function seconds(value: unknown): string | undefined {
  return typeof value === "number" && value > 0 && value <= 86_400
    ? undefined
    : "must be a number of seconds above 0, at most 86400";
}

function cidrRule(value: unknown): string | undefined {
  return typeof value === "string" && parseCidr(value)
    ? undefined
    : "must be a CIDR such as 192.0.2.0/24 or 2001:db8::/32";
}

function url(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return "must be an http: or https: URL";
  const { protocol, username, password } = new URL(value);
  if (protocol !== "http:" && protocol !== "https:") return "must be an http: or https: URL";
  return username === "" && password === ""
    ? undefined
    : "must not hold credentials: it stands in state and messages";
}
