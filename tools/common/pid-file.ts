import { existsSync, readFileSync, rmSync } from "node:fs";

/**
 * The process that a pid file names, if it lives and is the one that was meant: its command line must
 * contain `marker`, because process ids are used again.
 */
export function ownedProcess(pidFile: string, marker: string): number | undefined {
  if (!existsSync(pidFile)) return undefined;
  const pid = Number(readFileSync(pidFile, "utf8"));
  const commandLine = `/proc/${pid}/cmdline`;
  if (!Number.isInteger(pid) || pid <= 0 || !existsSync(commandLine)) return undefined;
  return readFileSync(commandLine, "utf8").replaceAll("\0", " ").includes(marker) ? pid : undefined;
}

/** Ends the process of a pid file, if it is the one that was meant, and removes the file. */
export function endOwnedProcess(pidFile: string, marker: string): void {
  const pid = ownedProcess(pidFile, marker);
  if (pid !== undefined) process.kill(pid, "SIGTERM");
  rmSync(pidFile, { force: true });
}
