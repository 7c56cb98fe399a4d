import { readdir, readFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";

/** What SSH needs to know of the machine it runs on; tests pass one of their own. */
export interface SshEnvironment {
  /** `~` and the token %d. */
  homeDirectory: string;
  /** The default login and the token %u. */
  userName: string;
  /** SSH_AUTH_SOCK, passphrases, `${NAME}` in ssh_config. Read anew at each dial. */
  variables: Readonly<Record<string, string | undefined>>;
  /** Rejects as node:fs does, with a `code`. */
  readFile(path: string): Promise<Buffer>;
  /** The names in a directory, for `Include` with wildcards; rejects as node:fs does. */
  readDirectory(path: string): Promise<string[]>;
}

export function systemEnvironment(): SshEnvironment {
  return {
    homeDirectory: homedir(),
    userName: loginName(),
    variables: process.env,
    readFile: (path) => readFile(path),
    readDirectory: (path) => readdir(path),
  };
}

function loginName(): string {
  const { USER, LOGNAME } = process.env;
  try {
    return userInfo().username;
  } catch {
    // A container's numeric user has no passwd entry; the variables are what is left.
    return USER ?? LOGNAME ?? "";
  }
}

export function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
