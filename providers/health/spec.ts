/** What a proxy has to show before it counts as ready. */
export interface ProxyCheckInputs {
  /** The proxy's name, for messages. */
  name: string;
  /** The proxy's address. */
  host: string;
  port: number;
  /** The machine's `generation`: another value makes the check wait anew. Empty for external endpoints. */
  generation: string;
  target: {
    /** An `http:` or `https:` URL that is requested through the proxy. */
    url: string;
    expectedStatus: number;
  };
  /** CIDRs that may use the proxy; who is outside must be refused. Empty: unknown, not checked by address. */
  allowedClients: string[];
  /** `ready`: create and update wait until the check passes; `none`: they do not look. */
  wait: "ready" | "none";
  /** How long create and update wait in all, in seconds. */
  waitTimeoutSeconds: number;
  /** Between two attempts, in seconds. */
  intervalSeconds: number;
  /** The longest that one attempt may take, in seconds. */
  timeoutSeconds: number;
  /** Failed checks in a row that make a ready proxy unready. */
  failureThreshold: number;
  /** Passed checks in a row that make an unready proxy ready. */
  recoveryThreshold: number;
}

export interface ProxyCheckOutputs {
  ready: boolean;
  /** `Ready`, or the first stage that failed. */
  reason: string;
  /** One sentence for people. */
  message: string;
  /** ISO 8601, UTC: when `ready` last changed. */
  lastTransitionTime: string;
}
