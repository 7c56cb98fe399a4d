import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** What the engine asks of a provider. */
export type Job =
  | { method: "create"; news: object }
  | { method: "read"; resource: string; olds: object }
  | { method: "update"; resource: string; olds: object; news: object }
  | { method: "delete"; resource: string; olds: object };

export interface Answer {
  id: number;
  value?: unknown;
  error?: string;
  initFailed?: boolean;
}

/** A job that failed, with what the engine would show. */
export class JobError extends Error {
  constructor(
    message: string,
    /** The resource is there and not well. */
    readonly initFailed = false,
  ) {
    super(message);
  }
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A provider process of one run. */
export class ProviderProcess {
  private readonly child: ChildProcess = fork(join(__dirname, "runner.js"));
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;
  private gone: string | undefined;

  constructor() {
    this.child.on("message", ({ id, value, error, initFailed }: Answer) => {
      const job = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) job?.resolve(value);
      else job?.reject(new JobError(error, initFailed));
    });
    this.child.once("exit", (code, signal) => {
      this.gone =
        signal === "SIGKILL" ? "killed" : `the provider process ended by itself (${signal ?? code})`;
      for (const { reject } of this.waiting.values()) reject(new JobError(this.gone));
      this.waiting.clear();
    });
  }

  /** What is asked before the process listens waits for it. */
  ask(job: Job): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.gone !== undefined) return reject(new JobError(this.gone));
      const id = ++this.count;
      this.waiting.set(id, { resolve, reject });
      this.child.send({ id, job });
    });
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  async end(): Promise<void> {
    if (this.gone !== undefined) return;
    const exit = once(this.child, "exit");
    this.kill();
    await exit;
  }
}
