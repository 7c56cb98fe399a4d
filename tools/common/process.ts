import { type ChildProcess, spawn } from "node:child_process";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { say } from "./say";

const PROGRESS_EVERY_MS = 10_000;

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** What a person can do when the command fails. */
  remedy?: string;
  /** Shown with the progress lines: what to expect, such as "about 6 minutes". */
  expect?: string;
  /** Sees the child as soon as it is started, to signal it. */
  onStart?: (child: ChildProcess) => void;
}

/**
 * Runs a command with its output shown as it comes.
 * @returns its exit status; 128 for a signal
 * @throws PermanentError if it cannot be started
 */
export function status(command: string, args: string[], options: RunOptions = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: "inherit",
    });
    options.onStart?.(child);
    child.once("error", (cause) => {
      reject(new PermanentError({ reason: "CommandMissing", where: command, message: cause.message, cause }));
    });
    child.once("exit", (code) => resolve(code ?? 128));
  });
}

/**
 * Runs a step that must succeed, with a progress line every 10 s.
 * @throws PermanentError with `remedy` if it ends with another status than 0
 */
export async function step(
  name: string,
  command: string,
  args: string[],
  options: RunOptions = {},
): Promise<void> {
  const code = await withProgress(name, options.expect, () => status(command, args, options));
  if (code === 0) return;
  throw new PermanentError({
    reason: "StepFailed",
    where: name,
    message: `${[command, ...args].join(" ")} ended with status ${code}`,
    ...(options.remedy === undefined ? {} : { remedy: options.remedy }),
  });
}

/** Prints a line every 10 s until `work` is done. */
export async function withProgress<T>(name: string, expect: string | undefined, work: () => Promise<T>) {
  const started = Date.now();
  const ticker = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    say(`${name}: ${seconds} s so far${expect === undefined ? "" : ` (${expect})`}`);
  }, PROGRESS_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
  }
}

export interface Captured {
  /** Exit status; 128 for a signal or a time-out. */
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs a command and returns what it printed; a command that is not there has status 127. */
export function capture(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Promise<Captured> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.timeoutMs ?? 60_000,
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.once("error", (error) => resolve({ status: 127, stdout: "", stderr: error.message }));
    child.once("close", (code) => {
      resolve({
        status: code ?? 128,
        stdout: Buffer.concat(out).toString(),
        stderr: Buffer.concat(err).toString(),
      });
    });
  });
}
