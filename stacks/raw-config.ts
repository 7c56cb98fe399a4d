import type { RawConfig } from "./config/rules/rule";

const NAMESPACE = "egress:";

/**
 * The `egress:` namespace out of Pulumi's config, where every value is a text.
 * Structured values are JSON; what is not stays the text it is, and is reported
 * as of the wrong type.
 */
export function rawConfig(all: Readonly<Record<string, string>>): RawConfig {
  const own = Object.entries(all)
    .filter(([key]) => key.startsWith(NAMESPACE))
    .map(([key, value]) => [key.slice(NAMESPACE.length), parsed(value)]);
  return { providers: undefined, pools: undefined, ...Object.fromEntries(own) };
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/**
 * The keys of the config that are encrypted, as the language host tells the
 * program (PULUMI_CONFIG_SECRET_KEYS); undefined where nobody tells, as with
 * inline programs of the Automation API.
 */
export function secretKeys(env: Readonly<Record<string, string | undefined>>): string[] | undefined {
  const listed = parsed(env.PULUMI_CONFIG_SECRET_KEYS ?? "");
  return Array.isArray(listed) ? listed.map(String) : undefined;
}
