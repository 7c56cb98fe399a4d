import { TransientError } from "./errors";

/** What time looks like to code that waits; tests pass a clock of their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

export interface RetryOptions {
  /** Attempts in all, the first included. */
  attempts: number;
  /** The first pause, in milliseconds; each further one doubles, up to `maxDelayMs`. */
  delayMs: number;
  maxDelayMs?: number;
  clock?: Clock;
  /** Once aborted, the next failure is the last. */
  giveUp?: AbortSignal;
  onRetry?: (error: TransientError, attempt: number) => void;
}

/**
 * Runs `work` again while it throws a TransientError; every other error passes at
 * once, and so does one that was retried in vain already.
 */
export async function retryTransient<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const clock = options.clock ?? systemClock;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TransientError) || error.exhausted || options.giveUp?.aborted) throw error;
      if (attempt >= options.attempts) {
        error.exhausted = true;
        throw error;
      }
      options.onRetry?.(error, attempt);
      await clock.sleep(Math.min(options.delayMs * 2 ** (attempt - 1), options.maxDelayMs ?? 30_000));
    }
  }
}
