import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../tools/common/paths";
import { type Captured, capture } from "../../tools/common/process";
import { pulumiEnvironment } from "../../tools/pulumi/environment";

/** A Pulumi project in a folder of its own, with its own state and the checkout's node_modules. */
export class PulumiProject {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;

  /**
   * @param bin folder with the CLI and its plugins
   * @param files contents by path in the project; Pulumi.yaml and package.json are the caller's, too
   */
  constructor(bin: string, files: Record<string, string>) {
    this.folder = mkdtempSync(path.join(os.tmpdir(), "egress-project-"));
    symlinkSync(path.join(root, "node_modules"), path.join(this.folder, "node_modules"));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    mkdirSync(path.join(this.folder, "state"));
    const own = {
      PULUMI_BACKEND_URL: `file://${this.folder}/state`,
      PULUMI_HOME: path.join(this.folder, "home"),
      PULUMI_CONFIG_PASSPHRASE: "test",
    };
    this.env = pulumiEnvironment({ ...process.env, ...own }, { bin, demo: this.folder });
  }

  write(name: string, text: string): void {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Runs the CLI to its end. Never throws for a failed command: look at `status`. */
  pulumi(...args: string[]): Promise<Captured> {
    return capture("pulumi", ["--non-interactive", ...args], {
      cwd: this.folder,
      env: this.env,
      timeoutMs: 900_000,
    });
  }

  /** Starts the CLI and returns at once, to interrupt it. Its output is dropped. */
  start(...args: string[]): ChildProcess {
    return spawn("pulumi", ["--non-interactive", ...args], {
      cwd: this.folder,
      env: this.env,
      stdio: "ignore",
    });
  }

  /** Removes the folder. Destroy the stack before, if it owns anything outside. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until `condition` holds, asking every 100 ms. */
export async function until(
  what: string,
  ms: number,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${ms / 1000} s: ${what}`);
    await sleep(100);
  }
}
