import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** One line of a known_hosts file; see SSH_KNOWN_HOSTS FILE FORMAT in sshd(8). */
export interface KnownHost {
  file: string;
  /** Counted from 1. */
  line: number;
  marker: "revoked" | "cert-authority" | undefined;
  /** Patterns in their order, or the one hashed name. */
  hosts: readonly string[];
  keyType: string;
  key: Buffer;
}

/** A line that cannot be read. */
export interface KnownHostsProblem {
  file: string;
  line: number;
  problem: string;
  /** The line wants to revoke a key, so that to skip it would be unsafe. */
  revokes: boolean;
}

export interface KnownHosts {
  entries: readonly KnownHost[];
  problems: readonly KnownHostsProblem[];
}

/** What known_hosts says about the key that a server has shown. */
export type Verdict =
  | { kind: "match"; entry: KnownHost }
  | { kind: "mismatch"; entry: KnownHost; expected: string; actual: string }
  | { kind: "revoked"; entry: KnownHost; actual: string }
  /** `otherTypes`: types of other keys of this host; `authorities`: certificate lines, which do not count. */
  | { kind: "unknown"; actual: string; otherTypes: readonly string[]; authorities: readonly KnownHost[] };

/** Reads one file. Keys of types unknown here are kept: they match nothing that a server could show. */
export function parseKnownHosts(text: string, file: string): KnownHosts {
  const entries: KnownHost[] = [];
  const problems: KnownHostsProblem[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    const parsed = parseLine(content);
    const place = { file, line: index + 1 };
    if (typeof parsed === "string") {
      problems.push({ ...place, problem: parsed, revokes: content.startsWith("@revoked") });
    } else if (parsed !== undefined) {
      entries.push({ ...place, ...parsed });
    }
  }
  return { entries, problems };
}

export function mergeKnownHosts(files: readonly KnownHosts[]): KnownHosts {
  return {
    entries: files.flatMap(({ entries }) => entries),
    problems: files.flatMap(({ problems }) => problems),
  };
}

/**
 * The name under which ssh(1) looks a host up: the HostKeyAlias as it is, else the
 * host name in lower case, in brackets with the port where that is not 22.
 */
export function lookupName(host: string, port: number, alias?: string): string {
  if (alias !== undefined) return alias.toLowerCase();
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

/** The types of the plain keys known for a host, each once, in the files' order. */
export function knownKeyTypes(known: KnownHosts, name: string): string[] {
  const plain = matching(known, name).filter(({ marker }) => marker === undefined);
  return [...new Set(plain.map(({ keyType }) => keyType))];
}

/** Judges the key that a server shows. A revoked key stays revoked whatever else matches. */
export function judgeHostKey(known: KnownHosts, name: string, key: Buffer): Verdict {
  const entries = matching(known, name);
  const actual = fingerprint(key);
  const same = entries.filter((entry) => entry.key.equals(key));
  const revoked = same.find(({ marker }) => marker === "revoked");
  if (revoked !== undefined) return { kind: "revoked", entry: revoked, actual };

  const match = same.find(({ marker }) => marker === undefined);
  if (match !== undefined) return { kind: "match", entry: match };

  const plain = entries.filter(({ marker }) => marker === undefined);
  const type = keyTypeOf(key);
  const changed = plain.find(({ keyType }) => keyType === type);
  if (changed !== undefined) {
    return { kind: "mismatch", entry: changed, expected: fingerprint(changed.key), actual };
  }
  return {
    kind: "unknown",
    actual,
    otherTypes: [...new Set(plain.map(({ keyType }) => keyType))],
    authorities: entries.filter(({ marker }) => marker === "cert-authority"),
  };
}

/** As ssh-keygen -l prints it: `SHA256:` and unpadded base64. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}

/** The first string of a public key's blob (RFC 4253, section 6.6), or undefined where there is none. */
export function keyTypeOf(key: Buffer): string | undefined {
  if (key.length < 4) return undefined;
  const length = key.readUInt32BE(0);
  return length === 0 || length > key.length - 4 ? undefined : key.toString("latin1", 4, 4 + length);
}

/** A comma-separated pattern list (PATTERNS in ssh_config(5)): a negated match wins. */
export function matchesPatterns(patterns: readonly string[], name: string): boolean {
  let matched = false;
  for (const pattern of patterns) {
    const negated = pattern.startsWith("!");
    if (!matchesWildcards((negated ? pattern.slice(1) : pattern).toLowerCase(), name.toLowerCase())) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

function parseLine(content: string): Omit<KnownHost, "file" | "line"> | string | undefined {
  const fields = content.split(/[ \t]+/);
  let marker: KnownHost["marker"];
  if (content.startsWith("@")) {
    const word = fields.shift();
    if (word === "@revoked") marker = "revoked";
    else if (word === "@cert-authority") marker = "cert-authority";
    else return `the marker ${word} is neither @revoked nor @cert-authority`;
  }
  const [names, keyType, base64] = fields;
  if (names === undefined || keyType === undefined || base64 === undefined) {
    return "it has fewer than three fields (names, key type, key)";
  }
  if (/^\d+$/.test(keyType)) return undefined; // a key of SSH protocol 1: no server shows one any more
  if (names.startsWith("|") && hashedName(names) === undefined) return "its hashed name is damaged";
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return "its key is not base64";
  const key = Buffer.from(base64, "base64");
  if (keyTypeOf(key) !== keyType) return `its key is not of the type ${keyType} that stands before it`;
  return { marker, hosts: names.startsWith("|") ? [names] : names.split(","), keyType, key };
}

function matching(known: KnownHosts, name: string): KnownHost[] {
  return known.entries.filter(({ hosts }) => {
    const hashed = hosts[0] === undefined ? undefined : hashedName(hosts[0]);
    if (hashed === undefined) return matchesPatterns(hosts, name);
    return timingSafeEqual(createHmac("sha1", hashed.salt).update(name).digest(), hashed.digest);
  });
}

/** `|1|salt|digest`: HMAC-SHA1 of the name, as `HashKnownHosts yes` writes it. */
function hashedName(text: string): { salt: Buffer; digest: Buffer } | undefined {
  const parts = /^\|1\|([A-Za-z0-9+/]+=*)\|([A-Za-z0-9+/]+=*)$/.exec(text);
  if (parts?.[1] === undefined || parts[2] === undefined) return undefined;
  const digest = Buffer.from(parts[2], "base64");
  return digest.length === 20 ? { salt: Buffer.from(parts[1], "base64"), digest } : undefined;
}

/** `*` and `?` only; linear in practice, and free of regular expressions made from a file. */
function matchesWildcards(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
