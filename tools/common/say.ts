import { EgressError } from "@egress-proxies/providers/machine/errors";

/** A line for the person who waits. */
export function say(text: string): void {
  console.log(`[setup] ${text}`);
}

/** Runs a command line tool: an error of ours is shown as its sentence, any other with its stack. */
export function main(work: () => Promise<number | undefined>, tool = "setup"): void {
  work().then(
    (code) => {
      process.exitCode = code ?? 0;
    },
    (error: unknown) => {
      console.error(error instanceof EgressError ? `[${tool}] ${error.reason}: ${error.message}` : error);
      process.exitCode = 1;
    },
  );
}
