import { z } from "zod";
import { capture } from "../common/process";

/** The stack's output `proxies`, as far as the demo shows it. */
export const proxiesOutput = z.array(
  z.object({ name: z.string(), pool: z.string(), host: z.string().optional(), url: z.string() }),
);
export type ProxyOutput = z.infer<typeof proxiesOutput>[number];

/** The arguments of curl for a request through a proxy, as a person would type them. */
export function curlThrough(proxyUrl: string, url: string): string[] {
  return ["-x", proxyUrl, url];
}

/** Requests `url` through the proxy. Returns the HTTP status, or curl's own words if there was none. */
export async function requestThrough(proxyUrl: string, url: string): Promise<number | string> {
  const quiet = ["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "30"];
  const answer = await capture("curl", [...quiet, ...curlThrough(proxyUrl, url)]);
  return answer.status === 0 ? Number(answer.stdout) : answer.stderr.trim();
}
