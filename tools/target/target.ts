import { spawn } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { endOwnedProcess, ownedProcess } from "../common/pid-file";

export const TARGET_PORT = 8204;
const START_MS = 10_000;
const server = path.join(__dirname, "server.js");

/** The lab's check target, a process of its own with a pid file in `directory`. */
export class Target {
  readonly url: string;
  private readonly pidFile: string;
  private readonly logFile: string;

  constructor(
    private readonly address: string,
    directory: string,
  ) {
    this.url = `http://${address}:${TARGET_PORT}/generate_204`;
    this.pidFile = path.join(directory, "target.pid");
    this.logFile = path.join(directory, "target.err");
  }

  /**
   * Starts it unless it runs, and waits until it answers.
   * @throws PermanentError if it does not answer within 10 s
   */
  async up(): Promise<void> {
    if (ownedProcess(this.pidFile, server) === undefined) {
      const log = openSync(this.logFile, "w");
      const child = spawn(process.execPath, [server, this.address, String(TARGET_PORT)], {
        detached: true,
        stdio: ["ignore", log, log],
      });
      closeSync(log);
      writeFileSync(this.pidFile, `${child.pid}\n`);
      child.unref();
    }
    const deadline = Date.now() + START_MS;
    while (!(await answers(this.url))) {
      if (Date.now() > deadline) {
        throw new PermanentError({
          reason: "TargetDown",
          where: this.url,
          message: "the check target does not answer",
          remedy: `See ${this.logFile}.`,
        });
      }
      await sleep(100);
    }
  }

  down(): void {
    endOwnedProcess(this.pidFile, server);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status === 204;
  } catch {
    return false; // not listening yet
  }
}
