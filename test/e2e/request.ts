import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The status that a request through a proxy ends with, as `curl -x` shows it; 0 where no answer came. */
export async function statusThrough(proxy: string, url: string, more: string[] = []): Promise<number> {
  const args = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "20", "-x", proxy, ...more, url];
  const { stdout } = await run("curl", args).catch((error: { stdout: string }) => error);
  return Number(stdout);
}
