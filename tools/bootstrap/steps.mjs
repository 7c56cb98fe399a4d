// How bootstrap speaks and runs commands.
import { spawn } from "node:child_process";

const PROGRESS_EVERY_MS = 10_000;

export function say(text) {
  console.log(`[setup] ${text}`);
}

/** Ends the process: what is wrong, where, and what to do. */
export function fail(where, message, remedy) {
  console.error(`[setup] ${where}: ${message}. ${remedy}`);
  process.exit(1);
}

/** Runs a command with its output shown, and a line every 10 s for as long as it takes; ends the process if it fails. */
export async function run(step, command, args, { cwd, env, remedy }) {
  const started = Date.now();
  const ticker = setInterval(() => {
    say(`${step}: still running after ${Math.round((Date.now() - started) / 1000)} s`);
  }, PROGRESS_EVERY_MS);
  const outcome = await new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${signal ?? `status ${code}`}`),
    );
  });
  clearInterval(ticker);
  if (outcome !== undefined) fail(step, `${[command, ...args].join(" ")} ${outcome}`, remedy);
}
