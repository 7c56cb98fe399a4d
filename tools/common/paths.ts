import os from "node:os";
import path from "node:path";

/** The checkout: this file runs as dist/tools/common/paths.js in it. */
export const root = path.resolve(__dirname, "../../..");

/** The executables of Pulumi for child processes: the CLI, the language host, the dynamic-provider runner. */
export const binFolder = path.join(root, "dist/bin");

/** All that `npm run demo` leaves in the checkout; `npm run demo:down` removes it. */
export const demoFolder = path.join(root, ".lab");

/** What is costly to make and the same for every checkout: the Pulumi CLI, the guest image. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.EGRESS_CACHE) return path.resolve(env.EGRESS_CACHE);
  return path.join(env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "egress-proxies");
}
