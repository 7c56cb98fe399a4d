import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

/** How long a child may take to end after SIGTERM before it gets SIGKILL, in milliseconds. */
const GRACE_MS = 5_000;

/** The node processes of one language host: programs and policy packs. They end with it. */
export class Children {
  private readonly running = new Set<ChildProcess>();

  /** Starts node with `args`; the child is known here until it ends. */
  start(args: string[], options: SpawnOptions): ChildProcess {
    const child = spawn(process.execPath, args, options);
    this.running.add(child);
    const forget = () => this.running.delete(child);
    child.once("error", forget);
    child.once("exit", forget);
    return child;
  }

  /** Ends one child: SIGTERM, and SIGKILL if it does not follow. Resolves when it is gone. */
  stopOne(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.running.has(child)) return Promise.resolve();
    return new Promise((resolve) => {
      const killer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
      child.once("exit", () => {
        clearTimeout(killer);
        resolve();
      });
      child.kill(signal);
    });
  }

  /** Ends all children; `signal` is what each of them gets first. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await Promise.all([...this.running].map((child) => this.stopOne(child, signal)));
  }
}
