#!/usr/bin/env node
// The first step of every npm script that needs more than Node: Debian packages, node_modules, compiled code.
// Runs in a fresh clone, so it imports nothing that npm would have to install first.
// Usage: main.mjs [--no-lab]   (--no-lab: leave Debian's packages alone, for tests that need no lab host)
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { installDebianPackages } from "./debian.mjs";
import { mismatches } from "./lockfile.mjs";
import { fail, run, say } from "./steps.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  fail("node", `version ${process.versions.node} is too old`, "Install Node 20.19 or newer.");
}
if (!process.argv.includes("--no-lab"))
  await installDebianPackages(path.dirname(fileURLToPath(import.meta.url)));
await installNodeModules();
await run(
  "compiling TypeScript",
  process.execPath,
  [path.join(root, "node_modules/typescript/bin/tsc"), "-b"],
  {
    cwd: root,
    remedy: "Mend the errors above, then run this again.",
  },
);

async function installNodeModules() {
  const wanted = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const installedFile = path.join(root, "node_modules/.package-lock.json");
  const installed = existsSync(installedFile) ? JSON.parse(readFileSync(installedFile, "utf8")) : undefined;
  const differing = mismatches(wanted, installed);
  if (differing.length === 0) return;
  say(
    `node_modules does not match package-lock.json (${summary(differing)}): running npm ci --ignore-scripts`,
  );
  await run("npm ci", "npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: root,
    remedy: "Check that the npm registry can be reached (npm ping), then run this again.",
  });
}

function summary(names) {
  return names.length > 3 ? `${names.length} packages differ` : names.join(", ");
}
