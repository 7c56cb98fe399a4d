import type { SshTarget } from "../machine/spec";
import { type HostOptions, invalidConfig, loadConfig, messageOf, optionsFor } from "./config-file";
import type { SshEnvironment } from "./environment";
import { type JumpSpec, parseProxyJump } from "./proxy-jump";
import type { SSHConfig } from "./ssh-config-library";
import { expandTilde, expandTokens, expandVariables, type Tokens } from "./tokens";

/** One host on the way, with everything that opening a connection to it needs. */
export interface Hop {
  /** The target's name and this hop's address, for messages. */
  where: string;
  host: string;
  port: number;
  user: string;
  hostKeyAlias: string | undefined;
  /** Files that must exist are the ones the target itself names. */
  knownHostsFiles: readonly { path: string; required: boolean }[];
  keys: KeySources;
}

/** Where private keys may come from, in the order in which they are offered. */
export interface KeySources {
  /** The target's `keyFile`: only this key is used. */
  only: string | undefined;
  /** `IdentityFile`s, or the usual ones after the agent. */
  files: readonly string[];
  filesAreDefaults: boolean;
  /** The agent's socket, where it may be asked for keys of its own. */
  agentSocket: string | undefined;
  /** The agent is asked only for keys that `files` name. */
  identitiesOnly: boolean;
  passphraseEnv: string | undefined;
}

/** The usual key files: what is tried where nothing names a key. */
const DEFAULT_KEYS = ["~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"];
const DEFAULT_KNOWN_HOSTS = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"];
const GLOBAL_KNOWN_HOSTS = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];
const MAX_JUMPS = 8;

/**
 * The hosts to go through, the target last. What the target sets itself wins over
 * ssh_config. A jump host follows its own entries of ssh_config; where these name
 * no key or no known_hosts file, the target's are used.
 */
export async function resolveRoute(target: SshTarget, env: SshEnvironment): Promise<Hop[]> {
  const config = await loadConfig(target.configFile, env, `host ${target.name} (${target.address})`);
  const hops: Hop[] = [];
  const request: JumpSpec = { host: target.address, user: target.user, port: target.port };
  addHop(hops, request, undefined, { target, env, config, isTarget: true, onTheWay: [] });
  return hops;
}

interface Resolution {
  target: SshTarget;
  env: SshEnvironment;
  config: SSHConfig;
  isTarget: boolean;
  onTheWay: readonly string[];
}

/** `jumps` given: those instead of the entry's own ProxyJump, as `ssh -J` does. */
function addHop(
  hops: Hop[],
  request: JumpSpec,
  jumps: readonly JumpSpec[] | undefined,
  context: Resolution,
): void {
  const { target, env, config, onTheWay } = context;
  const where = `host ${target.name} (${request.host})`;
  const visit = `${request.user ?? ""}@${request.host}:${request.port ?? ""}`;
  if (onTheWay.includes(visit) || onTheWay.length > MAX_JUMPS) {
    throw invalidConfig(where, `ProxyJump leads in a circle: ${[...onTheWay, visit].join(", ")}`);
  }
  const options = optionsFor(config, request.host, request.user);
  const hop = resolveHop(request, options, context);
  const before = jumps ?? proxyJumps(options, hop, request, env, where);
  const last = before.at(-1);
  if (last !== undefined) {
    const rest = before.length > 1 ? before.slice(0, -1) : undefined;
    addHop(hops, last, rest, { ...context, isTarget: false, onTheWay: [...onTheWay, visit] });
  }
  hops.push(hop);
}

function resolveHop(request: JumpSpec, options: HostOptions, context: Resolution): Hop {
  const { target, env, isTarget } = context;
  const alias = request.host;
  const at = `host ${target.name} (${alias})`;
  const expand = (option: string, text: string, tokens: Tokens): string => {
    try {
      return expandTilde(expandTokens(expandVariables(text, env.variables), tokens), env.homeDirectory);
    } catch (error) {
      throw invalidConfig(
        at,
        `${option} ${text} of the ssh config cannot be expanded: ${messageOf(error)}`,
        error,
      );
    }
  };
  const hostName = one(options, "hostname");
  const host = hostName === undefined ? alias : expand("HostName", hostName, { h: alias });
  const port = request.port ?? portOf(options, at) ?? 22;
  const user = request.user ?? one(options, "user") ?? env.userName;
  const where = `host ${target.name} (${port === 22 ? host : `${bracketed(host)}:${port}`})`;
  const hostKeyAlias = one(options, "hostkeyalias");
  const tokens: Tokens = {
    d: env.homeDirectory,
    h: host,
    k: hostKeyAlias ?? alias,
    n: alias,
    p: String(port),
    r: user,
    u: env.userName,
  };
  const paths = (option: string, texts: readonly string[]) =>
    texts.map((text) => expand(option, text, tokens));

  const userKnown = all(options, "userknownhostsfile");
  const globalKnown = paths(
    "GlobalKnownHostsFile",
    all(options, "globalknownhostsfile") ?? GLOBAL_KNOWN_HOSTS,
  );
  const optional = (files: readonly string[]) => files.map((path) => ({ path, required: false }));
  const named =
    target.knownHostsFile !== undefined && (isTarget || userKnown === undefined)
      ? [{ path: expandTilde(target.knownHostsFile, env.homeDirectory), required: true }]
      : undefined;
  const knownHostsFiles =
    named ?? optional([...paths("UserKnownHostsFile", userKnown ?? DEFAULT_KNOWN_HOSTS), ...globalKnown]);

  const keyFile = target.keyFile === undefined ? undefined : expandTilde(target.keyFile, env.homeDirectory);
  const identities =
    all(options, "identityfile") ?? (isTarget || keyFile === undefined ? undefined : [keyFile]);
  return {
    where,
    host,
    port,
    user,
    hostKeyAlias,
    knownHostsFiles,
    keys: {
      only: isTarget ? keyFile : undefined,
      files: paths("IdentityFile", identities ?? DEFAULT_KEYS),
      filesAreDefaults: identities === undefined,
      agentSocket: agentSocket(options, env, (text) => expand("IdentityAgent", text, tokens)),
      identitiesOnly: one(options, "identitiesonly")?.toLowerCase() === "yes",
      passphraseEnv: target.passphraseEnv,
    },
  };
}

function proxyJumps(
  options: HostOptions,
  hop: Hop,
  { host: alias }: JumpSpec,
  env: SshEnvironment,
  where: string,
): readonly JumpSpec[] {
  const jump = one(options, "proxyjump");
  const command = one(options, "proxycommand");
  if (jump === undefined && command !== undefined && command.toLowerCase() !== "none") {
    throw invalidConfig(where, "ProxyCommand of the ssh config is not supported: write the way as ProxyJump");
  }
  if (jump === undefined || jump.toLowerCase() === "none") return [];
  try {
    const tokens: Tokens = { h: hop.host, n: alias, p: String(hop.port), r: hop.user };
    return parseProxyJump(expandTokens(expandVariables(jump, env.variables), tokens));
  } catch (error) {
    throw invalidConfig(
      where,
      `ProxyJump ${jump} of the ssh config is not valid: ${messageOf(error)}`,
      error,
    );
  }
}

function agentSocket(
  options: HostOptions,
  env: SshEnvironment,
  expand: (text: string) => string,
): string | undefined {
  const named = one(options, "identityagent");
  if (named === undefined || named === "SSH_AUTH_SOCK") return env.variables.SSH_AUTH_SOCK || undefined;
  if (named.toLowerCase() === "none") return undefined;
  return named.startsWith("$") && !named.startsWith("${") ? env.variables[named.slice(1)] : expand(named);
}

function portOf(options: HostOptions, where: string): number | undefined {
  const text = one(options, "port");
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535) {
    throw invalidConfig(where, `Port ${text} of the ssh config is not a port number`);
  }
  return port;
}

function one(options: HostOptions, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : value?.[0];
}

/** The values of an option that takes several; `none` means that there are none. */
function all(options: HostOptions, name: string): string[] | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  return (typeof value === "string" ? [value] : value).filter((text) => text.toLowerCase() !== "none");
}

export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
