import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

/**
 * A word that names this very process, for files and volumes that must be
 * cleared once it is gone: `<where>-<pid>-<start>`, all hex. `where` stands for
 * one boot and one PID namespace of one machine, so containers and clones of a
 * machine never take each other's processes for dead.
 */
export const TOKEN_PATTERN = "[0-9a-f]{12}-[0-9a-f]{1,8}-[0-9a-f]{1,16}";

/** `elsewhere`: not a process that can be judged from here. */
export type Liveness = "alive" | "dead" | "elsewhere";

let own: string | undefined;

export function processToken(): string {
  own ??= `${here()}-${process.pid.toString(16)}-${statOf(process.pid)?.start ?? "0"}`;
  return own;
}

/** Whether the process of a token still lives. */
export function processLiveness(token: string): Liveness {
  if (token === processToken()) return "alive";
  const [where, pidHex, start] = token.split("-");
  if (where !== processToken().split("-")[0] || pidHex === undefined) return "elsewhere";
  const pid = Number.parseInt(pidHex, 16);
  if (!exists(pid)) return "dead";
  const stat = statOf(pid);
  if (stat === undefined) return "alive"; // exists, but /proc hides other users' processes
  return stat.start !== start || stat.state === "Z" || stat.state === "X" ? "dead" : "alive";
}

/** Without Linux's /proc a process knows only itself: random, so that all others are `elsewhere`. */
function here(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    return createHash("sha256")
      .update(`${boot.trim()} ${readlinkSync("/proc/self/ns/pid")}`)
      .digest("hex")
      .slice(0, 12);
  } catch {
    return randomBytes(6).toString("hex");
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** proc(5): state is field 3, starttime field 22; the name in field 2 may hold spaces and parentheses. */
function statOf(pid: number): { state: string; start: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0]!, start: BigInt(fields[19]!).toString(16) };
  } catch {
    return undefined;
  }
}
