import type { ServerHostKeyAlgorithm } from "ssh2";
import { type EgressError, PermanentError } from "../machine/errors";
import { judgeHostKey, type KnownHosts, keyTypeOf, knownKeyTypes, type Verdict } from "./known-hosts";
import { shellWord } from "./shell-word";

/** What the verifier of one host's key works with. */
export interface HostKeyCheck {
  /** The target's name with its address, for messages. */
  where: string;
  host: string;
  port: number;
  known: KnownHosts;
  /** The name to look up, and the HostKeyAlias if that is what it is. */
  name: string;
  alias: string | undefined;
  /** The files that were read; a remedy writes to the first. */
  files: readonly string[];
  /** The last host before this one that ssh can reach, where there is one. */
  jump: string | undefined;
}

const ALGORITHMS: readonly ServerHostKeyAlgorithm[] = [
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "ecdsa-sha2-nistp521",
  "rsa-sha2-512",
  "rsa-sha2-256",
  "ssh-rsa",
];
const RSA: readonly ServerHostKeyAlgorithm[] = ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"];

/**
 * The algorithms to offer: those of the known key types first, since a server shows
 * the first that it has, and a key of another type could not be compared.
 */
export function hostKeyAlgorithms(check: HostKeyCheck): ServerHostKeyAlgorithm[] {
  const types = knownKeyTypes(check.known, check.name);
  if (types.length === 0 && usesPort(check))
    types.push(...knownKeyTypes(check.known, check.host.toLowerCase()));
  const first = types.flatMap((type) =>
    type === "ssh-rsa" ? RSA : ALGORITHMS.filter((algorithm) => algorithm === type),
  );
  return [...new Set([...first, ...ALGORITHMS])];
}

/** Undefined where the key is known to be the host's; else why it must not be trusted. */
export function hostKeyProblem(check: HostKeyCheck, key: Buffer): EgressError | undefined {
  const verdict = judgeHostKey(check.known, check.name, key);
  const unread = check.known.problems.find(({ revokes }) => revokes || verdict.kind === "unknown");
  if (verdict.kind === "match" && unread === undefined) return undefined;
  if (verdict.kind === "unknown" && usesPort(check)) {
    // As ssh(1): a key known for the host without a port is good for its other ports too.
    const bare = judgeHostKey(check.known, check.host.toLowerCase(), key);
    if (bare.kind === "match" && !check.known.problems.some(({ revokes }) => revokes)) return undefined;
    if (bare.kind === "revoked") return problemOf(check, bare, key);
  }
  if (unread !== undefined && (verdict.kind === "match" || verdict.kind === "unknown")) {
    return new PermanentError({
      reason: "KnownHostsInvalid",
      where: check.where,
      message: `${unread.file}, line ${unread.line} cannot be read: ${unread.problem}`,
      remedy: "Correct or remove that line",
    });
  }
  return problemOf(check, verdict, key);
}

function problemOf(check: HostKeyCheck, verdict: Verdict, key: Buffer): EgressError | undefined {
  const type = keyTypeOf(key) ?? "unknown type";
  switch (verdict.kind) {
    case "match":
      return undefined;
    case "revoked":
      return new PermanentError({
        reason: "HostKeyRevoked",
        where: check.where,
        message: `the server's key ${verdict.actual} (${type}) is revoked in ${verdict.entry.file}, line ${verdict.entry.line}`,
        remedy:
          "Do not connect; give the host new keys with: ssh-keygen -A, after removing /etc/ssh/ssh_host_*",
      });
    case "mismatch":
      return new PermanentError({
        reason: "HostKeyMismatch",
        where: check.where,
        message: `the server's key ${verdict.actual} (${type}) is not the one in ${verdict.entry.file}, line ${verdict.entry.line}: ${verdict.expected}`,
        remedy:
          "Either the host has new keys or someone sits in between. If the keys are really new: " +
          `ssh-keygen -R ${shellWord(check.name)} -f ${shellWord(verdict.entry.file)}, then ${scan(check, verdict.entry.file)}`,
      });
    case "unknown":
      return new PermanentError({
        reason: "HostKeyUnknown",
        where: check.where,
        message: `the server's key ${verdict.actual} (${type}) is not known as ${check.name}${unknownDetail(check, verdict)}`,
        remedy:
          "On the host's own console compare it with: for f in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $f; done; " +
          `if it is there: ${scan(check, check.files[0] ?? "~/.ssh/known_hosts")}`,
      });
  }
}

function unknownDetail(check: HostKeyCheck, verdict: Extract<Verdict, { kind: "unknown" }>): string {
  const authority = verdict.authorities[0];
  if (verdict.otherTypes.length > 0) {
    return `; known are its keys of type ${verdict.otherTypes.join(", ")}, which the server does not show`;
  }
  if (authority !== undefined) {
    return `; only a @cert-authority line matches (${authority.file}, line ${authority.line}), and host certificates are not supported: a line with the host's own key is needed`;
  }
  return ` in ${check.files.join(", ")}`;
}

function scan(check: HostKeyCheck, file: string): string {
  const port = check.port === 22 ? "" : `-p ${check.port} `;
  const through = check.jump === undefined ? "" : `ssh ${shellWord(check.jump)} `;
  const rename = check.alias === undefined ? "" : ` | sed ${shellWord(`s/^[^# ]*/${check.alias}/`)}`;
  return `${through}ssh-keyscan ${port}${shellWord(check.host)}${rename} >> ${shellWord(file)}`;
}

function usesPort({ alias, port }: HostKeyCheck): boolean {
  return alias === undefined && port !== 22;
}
