import { TransientError } from "../machine/errors";
import type { ProxyCheckEnvironment } from "./environment";

/** The share of a pause that chance may take away. */
const JITTER = 0.2;

/**
 * Sleeps for a little less than `seconds`, by chance.
 *
 * @throws TransientError where the run ends meanwhile
 */
export async function pause(
  { clock, random }: Pick<ProxyCheckEnvironment, "clock" | "random">,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
    signal.addEventListener("abort", end, { once: true });
  });
  if (!signal.aborted) await Promise.race([clock.sleep(seconds * 1000 * (1 - JITTER * random())), ended]);
  signal.removeEventListener("abort", end);
  if (signal.aborted) {
    throw new TransientError({
      reason: "Interrupted",
      message: "the run ended before the proxy was ready",
      remedy: "Run `pulumi up` again.",
    });
  }
}
