import { PermanentError, TransientError } from "../machine/errors";
import { messageOf } from "./config-file";
import { isMissing, type SshEnvironment } from "./environment";
import { type KnownHosts, mergeKnownHosts, parseKnownHosts } from "./known-hosts";
import type { Hop } from "./route";
import { shellWord } from "./shell-word";

/**
 * Reads a hop's known_hosts files. One that the target names must exist: TransientError
 * CredentialsUnavailable. One that cannot be read: PermanentError KnownHostsInvalid.
 */
export async function readKnownHosts(hop: Hop, env: SshEnvironment): Promise<KnownHosts> {
  return mergeKnownHosts(
    await Promise.all(
      hop.knownHostsFiles.map(async ({ path, required }) => {
        try {
          return parseKnownHosts((await env.readFile(path)).toString("utf8"), path);
        } catch (error) {
          if (isMissing(error) && !required) return { entries: [], problems: [] };
          throw unreadable(hop.where, path, error);
        }
      }),
    ),
  );
}

function unreadable(where: string, path: string, cause: unknown): PermanentError | TransientError {
  return isMissing(cause)
    ? new TransientError({
        reason: "CredentialsUnavailable",
        where,
        message: `the known_hosts file ${path} does not exist`,
        remedy: "Put it there or correct knownHostsFile",
        cause,
      })
    : new PermanentError({
        reason: "KnownHostsInvalid",
        where,
        message: `the known_hosts file ${path} cannot be read: ${messageOf(cause)}`,
        remedy: `Look with: ls -l ${shellWord(path)}`,
        cause,
      });
}
