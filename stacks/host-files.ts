import { homedir } from "node:os";
import { join } from "node:path";
import type { Config } from "./config/schema";

/** Throws Node's error where a file cannot be read. */
export type TryRead = (path: string) => void;

/**
 * A warning for each SSH file of a host that cannot be read now. No error: files
 * are read when a connection is opened, and may be there by then.
 */
export function hostFileWarnings({ providers }: Config, tryRead: TryRead): string[] {
  return Object.entries(providers).flatMap(([entry, { hosts }]) =>
    hosts.flatMap((host) =>
      (["keyFile", "knownHostsFile", "configFile"] as const).flatMap((option) => {
        const path = host[option];
        const code = path === undefined ? undefined : failure(atHome(path), tryRead);
        if (code === undefined) return [];
        return [
          `egress:providers.${entry}, host ${host.name}: ${option} ${path} cannot be read now (${code}). ` +
            "Correct the path or the permissions, or put the file there before the host is needed.",
        ];
      }),
    ),
  );
}

function atHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

function failure(path: string, tryRead: TryRead): string | undefined {
  try {
    tryRead(path);
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}
