import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { listing, type Problem } from "./problem";

/** The config cannot be used. The message lists every problem; people need no stack trace with it. */
export class ConfigError extends PermanentError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super({ reason: "ConfigInvalid", message: listing(problems) });
    this.problems = problems;
  }
}
