import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { root } from "../common/paths";
import { type RunOptions, status } from "../common/process";
import { type Counts, NONE, verdict } from "./counts";
import type { Kind } from "./kinds";

/** Runs the tests of one kind in a mocha process of its own. */
export async function runMocha(
  kind: Kind,
  env: NodeJS.ProcessEnv,
  onStart: NonNullable<RunOptions["onStart"]>,
): Promise<Counts> {
  const files = await testFiles(kind);
  if (files.length === 0) return NONE;
  const scratch = mkdtempSync(path.join(os.tmpdir(), "egress-counts-"));
  const countsFile = path.join(scratch, "counts.json");
  try {
    const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
    const reporter = path.join(root, "dist/tools/test-run/reporter.js");
    // A test that leaves a socket open must not keep the whole run waiting: --exit.
    const code = await status(process.execPath, [mocha, "--exit", "--reporter", reporter, ...files], {
      cwd: root,
      env: { ...env, EGRESS_TEST_COUNTS: countsFile },
      onStart,
    });
    const reported = existsSync(countsFile)
      ? (JSON.parse(readFileSync(countsFile, "utf8")) as Counts)
      : undefined;
    return verdict(reported, code);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The compiled files of the tests in the source tree: what dist keeps of deleted tests does not run. */
async function testFiles(kind: Kind): Promise<string[]> {
  const folder = path.join(root, "test", kind);
  if (!existsSync(folder)) return [];
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => path.join("dist/test", kind, name.replace(/\.ts$/, ".js")));
}
