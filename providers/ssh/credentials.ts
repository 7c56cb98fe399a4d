import type { AgentAuthMethod, ParsedKey, PublicKeyAuthMethod } from "ssh2";
import { type EgressError, PermanentError, TransientError } from "../machine/errors";
import { type AgentKeys, askAgent, SelectedKeysAgent } from "./agent";
import { messageOf } from "./config-file";
import { isMissing, type SshEnvironment } from "./environment";
import { readKeyFile } from "./private-key";
import type { Hop } from "./route";
import { shellWord } from "./shell-word";

/** One way to log in, with words for it: a key's path, or "the agent". */
export interface Credential {
  label: string;
  method: PublicKeyAuthMethod | AgentAuthMethod;
}

export interface Credentials {
  /** At least one, in the order in which to offer them. */
  offered: readonly Credential[];
  /** What could not be used though others can; shown where the server refuses all. */
  skipped: readonly string[];
}

/** How long the agent may take to list its keys. */
const AGENT_TIMEOUT_MS = 5_000;

/**
 * Reads the keys for one hop, at the moment of the dial.
 * Throws TransientError CredentialsUnavailable where a file is missing, PermanentError
 * CredentialsInvalid where one is damaged or its passphrase missing or wrong.
 * An encrypted key without a passphrase is good where the agent holds it.
 */
export async function readCredentials(hop: Hop, env: SshEnvironment): Promise<Credentials> {
  const { keys, where } = hop;
  const agent = await heldByAgent(hop);
  const problems: EgressError[] = [];
  const fromFiles: Credential[] = [];
  const shown = new Set<string>();

  for (const path of keys.only === undefined ? keys.files : [keys.only]) {
    const found = await readKey(path, hop, env, agent.keys);
    if (!("label" in found)) {
      problems.push(found);
      continue;
    }
    const id = found.publicKey.toString("base64");
    if (!shown.has(id)) fromFiles.push({ label: found.label, method: found.method });
    shown.add(id);
  }

  const asked = keys.only === undefined && !keys.identitiesOnly ? agent.keys : undefined;
  const others = (asked?.keys ?? []).filter((key) => !shown.has(key.getPublicSSH().toString("base64")));
  const fromAgent =
    asked === undefined || others.length === 0
      ? []
      : [agentCredential(hop.user, asked, others, "the agent's keys")];
  const offered = keys.filesAreDefaults ? [...fromAgent, ...fromFiles] : [...fromFiles, ...fromAgent];
  const wanted = problems.filter(({ reason }) => reason === "CredentialsInvalid" || !keys.filesAreDefaults);
  if (offered.length > 0)
    return {
      offered,
      skipped: [...wanted.map(plainMessage), ...(keys.only === undefined ? agent.problems : [])],
    };

  const permanent = problems.find(({ reason }) => reason === "CredentialsInvalid");
  if (permanent !== undefined) throw permanent;
  if (problems.length === 1 && problems[0] !== undefined) throw problems[0];
  throw new TransientError({
    reason: "CredentialsUnavailable",
    where,
    message: `no key to log in as ${hop.user} with: ${[...agent.problems, `none of ${keys.files.join(", ")} exists`].join("; ")}`,
    remedy: "Set keyFile, add a key to the agent with ssh-add, or make one with ssh-keygen",
  });
}

type FoundKey = Credential & { publicKey: Buffer };

async function readKey(
  path: string,
  hop: Hop,
  env: SshEnvironment,
  agent: AgentKeys | undefined,
): Promise<FoundKey | EgressError> {
  const { user, where, keys } = hop;
  let content: Buffer;
  try {
    content = await env.readFile(path);
  } catch (error) {
    return isMissing(error)
      ? new TransientError({
          reason: "CredentialsUnavailable",
          where,
          message: `the key file ${path} does not exist`,
          remedy: "Put the key there or correct keyFile",
          cause: error,
        })
      : invalid(
          where,
          `the key file ${path} cannot be read: ${messageOf(error)}`,
          `Look with: ls -l ${shellWord(path)}`,
        );
  }
  const variable = keys.passphraseEnv;
  const file = readKeyFile(
    content,
    variable === undefined ? undefined : env.variables[variable] || undefined,
  );
  if (file.kind === "private") {
    const method = { type: "publickey" as const, username: user, key: file.key };
    return { label: `the key ${path}`, method, publicKey: file.key.getPublicSSH() };
  }
  const check = `Check it with: ssh-keygen -y -f ${shellWord(path)}`;
  if (file.kind === "invalid")
    return invalid(
      where,
      `the key file ${path} is not a private key that can be used: ${file.problem}`,
      check,
    );

  const publicKey = file.publicKey;
  const held = agent?.keys.find((key) => publicKey !== undefined && key.getPublicSSH().equals(publicKey));
  if (agent !== undefined && held !== undefined) {
    return {
      ...agentCredential(user, agent, [held], `the key ${path} in the agent`),
      publicKey: held.getPublicSSH(),
    };
  }
  if (file.kind === "public") {
    return invalid(
      where,
      `the key file ${path} holds a public key, and no agent holds the private one`,
      "Name the private key, or add it to the agent with ssh-add",
    );
  }
  if (variable !== undefined && file.passphraseWrong) {
    return invalid(where, `the passphrase in ${variable} does not open the key ${path}`, check);
  }
  return variable === undefined
    ? invalid(
        where,
        `the key ${path} is encrypted and no passphrase is given`,
        `Name the variable that holds it as passphraseEnv, or run: ssh-add ${shellWord(path)}`,
      )
    : invalid(
        where,
        `the key ${path} is encrypted and the environment variable ${variable} is not set`,
        `Set ${variable} to the key's passphrase`,
      );
}

async function heldByAgent({ keys }: Hop): Promise<{ keys: AgentKeys | undefined; problems: string[] }> {
  if (keys.agentSocket === undefined)
    return { keys: undefined, problems: ["no agent is named by SSH_AUTH_SOCK"] };
  try {
    const found = await askAgent(keys.agentSocket, AGENT_TIMEOUT_MS);
    return {
      keys: found,
      problems: found.keys.length === 0 ? [`the agent at ${keys.agentSocket} holds no key`] : [],
    };
  } catch (error) {
    return {
      keys: undefined,
      problems: [`the agent at ${keys.agentSocket} cannot be asked: ${messageOf(error)}`],
    };
  }
}

function agentCredential(
  username: string,
  { agent }: AgentKeys,
  keys: readonly ParsedKey[],
  label: string,
): Credential {
  return { label, method: { type: "agent", username, agent: new SelectedKeysAgent(agent, keys) } };
}

function invalid(where: string, message: string, remedy: string): PermanentError {
  return new PermanentError({ reason: "CredentialsInvalid", where, message, remedy });
}

/** The message without the place, which the whole message names already. */
function plainMessage({ message, where }: EgressError): string {
  return where !== undefined && message.startsWith(`${where}: `) ? message.slice(where.length + 2) : message;
}
