import { destination, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** From the most to the least; `silent` writes nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const DEFAULT_LEVEL: LogLevel = "debug";

/** Host names and addresses stand in it: nobody else's to read. */
const MODE = 0o600;

/**
 * The log of this process, or undefined where `EGRESS_LOG` names no file.
 *
 * Lines are appended at once, one write each: processes share a file, and a
 * killed one loses nothing. A log that cannot be written never fails a run:
 * `complain` is told once, and the run goes on without it.
 */
export function openLog(
  env: Readonly<Record<string, string | undefined>>,
  complain: (message: string) => void,
): Logger | undefined {
  const { EGRESS_LOG: file, EGRESS_LOG_LEVEL: wanted } = env;
  if (file === undefined || file === "") return undefined;
  const level = LOG_LEVELS.find((name) => name === wanted) ?? DEFAULT_LEVEL;
  if (wanted !== undefined && wanted !== "" && wanted !== level) {
    complain(
      `EGRESS_LOG_LEVEL is "${wanted}", which is none of ${LOG_LEVELS.join(", ")}: ${level} is used instead`,
    );
  }
  let told = false;
  const unwritable = (error: unknown) => {
    if (told) return;
    told = true;
    complain(
      `the log ${file} cannot be written (${error instanceof Error ? error.message : String(error)}); ` +
        "the run goes on without it. Set EGRESS_LOG to a file in a folder that you may write to",
    );
  };
  try {
    const target = destination({ dest: file, append: true, sync: true, mode: MODE });
    // Without a listener a full disk would end the process.
    target.on("error", unwritable);
    return pino(
      {
        level,
        base: { pid: process.pid },
        timestamp: () => `,"time":"${new Date().toISOString()}"`,
        formatters: { level: (label) => ({ level: label }) },
      },
      target,
    );
  } catch (error) {
    unwritable(error);
    return undefined;
  }
}
