import { explain } from "./explain";
import type { Problem } from "./problem";
import { capacity } from "./rules/capacity";
import { choices } from "./rules/choices";
import { hostNames, identifiers, physicalNames } from "./rules/names";
import { images, references, secretRefs } from "./rules/references";
import type { ConfigContext, RawConfig, Rule } from "./rules/rule";
import { squidOptions } from "./rules/squid";
import { type Config, configSchema } from "./schema";

const RULES: readonly Rule[] = [
  identifiers,
  hostNames,
  choices,
  references,
  images,
  secretRefs,
  physicalNames,
  capacity,
  squidOptions,
];

/**
 * Checks the whole config and reports every problem at once. Pure: nothing is
 * read and no connection is made.
 */
export function parseConfig(
  raw: RawConfig,
  context: ConfigContext,
): { config: Config } | { problems: Problem[] } {
  const parsed = configSchema.safeParse(raw);
  const problems = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => explain(issue, configSchema, raw))),
    ...RULES.flatMap((rule) => rule(raw, context)),
  ];
  if (!parsed.success || problems.length > 0) return { problems: problems.sort(byPath) };
  return { config: parsed.data };
}

function byPath(a: Problem, b: Problem): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
