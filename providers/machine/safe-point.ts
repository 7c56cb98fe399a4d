import { TransientError } from "./errors";

/** Called before every change of a host: a run that is over changes nothing more. */
export function safePoint(signal: AbortSignal): void {
  if (!signal.aborted) return;
  const why = signal.reason instanceof Error ? signal.reason.message : "the run is over";
  throw new TransientError({
    reason: "Interrupted",
    message: `stopped at a safe point: ${why}`,
    remedy: "Run `pulumi up` again: it goes on from what is there",
  });
}
