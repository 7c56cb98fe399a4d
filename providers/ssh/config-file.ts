import { basename, dirname, isAbsolute, join } from "node:path";

import { EgressError, PermanentError, TransientError } from "../machine/errors";
import { isMissing, type SshEnvironment } from "./environment";
import { glob, LineType, SSHConfig } from "./ssh-config-library";
import { expandTilde } from "./tokens";

type Line = SSHConfig[number];

/** OpenSSH's own limit. */
const MAX_INCLUDE_DEPTH = 16;

/** The options that hold for one host: names in lower case, the first value found, all of IdentityFile. */
export type HostOptions = Readonly<Record<string, string | string[]>>;

/**
 * Reads an ssh_config file with the files it includes. Inside a `Host` or `Match`
 * block an included file may hold options only; its own blocks are passed over.
 * @param path Undefined: `~/.ssh/config`, which may be missing.
 */
export async function loadConfig(
  path: string | undefined,
  env: SshEnvironment,
  where: string,
): Promise<SSHConfig> {
  const file = expandTilde(path ?? "~/.ssh/config", env.homeDirectory);
  try {
    return await read(file, env, where, 0);
  } catch (error) {
    if (error instanceof EgressError) throw error;
    if (!isMissing(error)) throw unreadable(file, where, error);
    if (path === undefined) return new SSHConfig();
    throw new TransientError({
      reason: "CredentialsUnavailable",
      where,
      message: `the ssh config file ${file} does not exist`,
      remedy: "Create it or correct configFile",
      cause: error,
    });
  }
}

/** `Match exec` is never run: a config is read many times, and each would start a shell. */
export function optionsFor(config: SSHConfig, host: string, user: string | undefined): HostOptions {
  const query = user === undefined ? { Host: host } : { Host: host, User: user };
  return config.compute(query, { ignoreCase: true, matchExec: false });
}

async function read(file: string, env: SshEnvironment, where: string, depth: number): Promise<SSHConfig> {
  const text = (await env.readFile(file)).toString("utf8");
  let config: SSHConfig;
  try {
    config = SSHConfig.parse(text);
  } catch (error) {
    throw invalidConfig(where, `${file} cannot be read as an ssh config: ${messageOf(error)}`, error);
  }
  return await withIncludes(config, file, env, where, depth);
}

async function withIncludes(
  lines: SSHConfig,
  file: string,
  env: SshEnvironment,
  where: string,
  depth: number,
): Promise<SSHConfig> {
  const result = new SSHConfig();
  for (const line of lines) {
    if (line.type !== LineType.DIRECTIVE) continue;
    if (/^include$/i.test(line.param)) {
      if (depth >= MAX_INCLUDE_DEPTH) throw invalidConfig(where, `${file} includes files in a circle`);
      for (const included of await includedFiles(line, env)) {
        result.push(...(await readIncluded(included, env, where, depth + 1)));
      }
    } else if ("config" in line) {
      result.push({ ...line, config: await withIncludes(line.config, file, env, where, depth) });
    } else {
      result.push(line);
    }
  }
  return result;
}

/** A file that an Include names and that is not there is passed over, as OpenSSH does. */
async function readIncluded(
  file: string,
  env: SshEnvironment,
  where: string,
  depth: number,
): Promise<Line[]> {
  try {
    return await read(file, env, where, depth);
  } catch (error) {
    if (error instanceof EgressError) throw error;
    if (isMissing(error)) return [];
    throw unreadable(file, where, error);
  }
}

/** Wildcards work in the last part of a path. Relative paths start at `~/.ssh`. */
async function includedFiles(line: Line, env: SshEnvironment): Promise<string[]> {
  if (line.type !== LineType.DIRECTIVE) return [];
  const patterns = typeof line.value === "string" ? [line.value] : line.value.map(({ val }) => val);
  const files: string[] = [];
  for (const pattern of patterns) {
    const expanded = expandTilde(pattern, env.homeDirectory);
    const path = isAbsolute(expanded) ? expanded : join(env.homeDirectory, ".ssh", expanded);
    if (!/[*?]/.test(basename(path))) {
      files.push(path);
      continue;
    }
    const names = await env.readDirectory(dirname(path)).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const shown = names.filter((name) => !name.startsWith(".") && glob([basename(path)], name));
    files.push(...shown.sort().map((name) => join(dirname(path), name)));
  }
  return files;
}

export function invalidConfig(where: string, message: string, cause?: unknown): PermanentError {
  return new PermanentError({
    reason: "SshConfigInvalid",
    where,
    message,
    remedy: "Correct it, or name another file as configFile",
    cause,
  });
}

function unreadable(file: string, where: string, error: unknown): PermanentError {
  return invalidConfig(where, `the ssh config file ${file} cannot be read: ${messageOf(error)}`, error);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
