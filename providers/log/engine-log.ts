import type { Engine } from "../pulumi/engine";
import type { Logger } from "./logger";

/** The same engine; what people are shown stands in the log as well. */
export function loggedEngine(engine: Engine, log: Logger | undefined): Engine {
  if (log === undefined) return engine;
  return {
    ...engine,
    log(severity, message, ephemeral) {
      log[severity === "warning" ? "warn" : "info"](message);
      engine.log(severity, message, ephemeral);
    },
  };
}
