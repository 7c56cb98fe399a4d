import { stackFileSchema } from "./json-schema";
import { configReference } from "./reference";

/** The files that are generated from the config schema, by their path from the project's root. */
export function generated(): Record<string, string> {
  return {
    "docs/config.md": configReference(),
    "docs/config.schema.json": `${JSON.stringify(stackFileSchema(), null, 2)}\n`,
  };
}
