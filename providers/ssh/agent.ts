import {
  BaseAgent,
  type IdentityCallback,
  OpenSSHAgent,
  type ParsedKey,
  type SignCallback,
  type SigningRequestOptions,
} from "ssh2";

/** Keys that an agent holds, and the agent that signs with them. */
export interface AgentKeys {
  agent: OpenSSHAgent;
  keys: readonly ParsedKey[];
}

/** Asks the agent for its keys; rejects where it cannot be reached or does not answer in time. */
export async function askAgent(socketPath: string, timeoutMs: number): Promise<AgentKeys> {
  const agent = new OpenSSHAgent(socketPath);
  const keys = await new Promise<ParsedKey[]>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    agent.getIdentities((error, identities) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve((identities ?? []).filter(isParsedKey));
    });
  });
  return { agent, keys };
}

/** An agent that shows only some of the keys, so that a server's limit on attempts is not used up by others. */
export class SelectedKeysAgent extends BaseAgent<ParsedKey> {
  constructor(
    private readonly agent: OpenSSHAgent,
    private readonly keys: readonly ParsedKey[],
  ) {
    super();
  }

  override getIdentities(done: IdentityCallback<ParsedKey>): void {
    done(null, [...this.keys]);
  }

  override sign(
    key: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    done?: SignCallback,
  ): void {
    if (typeof options === "function") this.agent.sign(key, data, options);
    else this.agent.sign(key, data, options, done);
  }
}

function isParsedKey(identity: unknown): identity is ParsedKey {
  return typeof identity === "object" && identity !== null && "getPublicSSH" in identity;
}
