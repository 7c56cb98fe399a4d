import { TransientError } from "./errors";

/** What a run's signal is aborted with, and so what its work ends with wherever it is stopped. */
export function interrupted(why: string): TransientError {
  return new TransientError({
    reason: "Interrupted",
    message: `stopped before the next change: ${why}`,
    remedy: "Run `pulumi up` again: it goes on from what is there",
  });
}

/** Called before every change of a host: a run that is over changes nothing more. */
export function safePoint(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw signal.reason instanceof TransientError ? signal.reason : interrupted("the run is over");
}
