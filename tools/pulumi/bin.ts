import { existsSync, statSync } from "node:fs";
import { chmod, copyFile, link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { binFolder, root } from "../common/paths";

/**
 * Puts all executables that Pulumi looks for into one folder. The CLI is a hard link, not a symbolic one:
 * then its plugins lie beside the running executable, where the engine takes them without a warning.
 */
export async function assembleBin(cli: string, folder = binFolder): Promise<string> {
  await mkdir(folder, { recursive: true });
  await place(cli, path.join(folder, "pulumi"));
  const official = path.join(path.dirname(cli), "pulumi-language-nodejs");
  const languageHost = path.join(folder, "pulumi-language-nodejs");
  if (existsSync(official)) await place(official, languageHost);
  else await script(languageHost, ourLanguageHost(path.join(root, "dist/tools/language-host/main.js")));
  await script(path.join(folder, "pulumi-resource-pulumi-nodejs"), DYNAMIC_PROVIDER);
  return folder;
}

function ourLanguageHost(entry: string): string {
  return `#!/bin/sh\nexec node '${entry.replaceAll("'", "'\\''")}' "$@"\n`;
}

/** As in the npm package, but with exec: the engine's signals then reach node itself. */
const DYNAMIC_PROVIDER = `#!/bin/sh
script=$(node -p "require.resolve('@pulumi/pulumi/cmd/dynamic-provider')") || exit 1
exec node "$script" "$@"
`;

/** A hard link, or a copy where the file is on another file system. */
async function place(source: string, target: string): Promise<void> {
  if (existsSync(target)) {
    const [from, to] = [statSync(source), statSync(target)];
    if (from.ino === to.ino && from.dev === to.dev) return;
    if (from.dev !== to.dev && from.size === to.size && from.mtimeMs <= to.mtimeMs) return;
  }
  await publish(target, async (partial) => {
    await link(source, partial).catch(() => copyFile(source, partial));
  });
}

async function script(target: string, text: string): Promise<void> {
  await publish(target, async (partial) => {
    await writeFile(partial, text);
    await chmod(partial, 0o755);
  });
}

/** Writes beside the target and renames, so that a running Pulumi never sees half a file. */
async function publish(target: string, make: (partial: string) => Promise<void>): Promise<void> {
  const partial = `${target}.${process.pid}`;
  try {
    await make(partial);
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
}
