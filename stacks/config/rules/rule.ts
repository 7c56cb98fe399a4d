import type { Problem } from "../problem";

/** The `egress:` namespace as written, by key without the namespace. */
export interface RawConfig {
  providers: unknown;
  pools: unknown;
  /** Anything else is a mistake, and reported as one. */
  [key: string]: unknown;
}

/** Who is deploying; physical names begin with the stack's name. */
export interface ConfigContext {
  project: string;
  stack: string;
}

/** Looks at several options at once. Reads the config as written, and passes over what is not of the right type. */
export type Rule = (raw: RawConfig, context: ConfigContext) => Problem[];
