import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { capture } from "../tools/common/process";

const TIMEOUT_MS = 900_000;

/** What a child measured of itself. */
export interface ChildResult {
  /** Seconds from the first connection to the end of the work. */
  seconds: number;
  /** The most memory that the process held (resident set), in MiB. */
  peakMiB: number;
}

/**
 * Runs `children/<name>` in a process of its own, as a provider process is: its memory is then the
 * provider's. Its own start is not counted.
 */
export async function runChild(name: "upload" | "publish", job: object): Promise<ChildResult> {
  const script = path.join(__dirname, "children", `${name}.js`);
  const { status, stdout, stderr } = await capture(process.execPath, [script, JSON.stringify(job)], {
    timeoutMs: TIMEOUT_MS,
  });
  if (status === 0) return JSON.parse(stdout) as ChildResult;
  throw new PermanentError({
    reason: "MeasurementFailed",
    where: name,
    message: `its process ended with status ${status}: ${stderr.trim()}`,
  });
}
