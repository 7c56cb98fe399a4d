/**
 * Why a proxy is ready or not: `Ready`, or the first stage that failed. The
 * words are an interface (state, exports, alerts); docs/reasons.md explains them.
 */
export const REASONS = [
  "Ready",
  "NotChecked",
  "NoAddress",
  "ConnectRefused",
  "ConnectTimeout",
  "Unreachable",
  "OpenProxy",
  "PrivateDestinationAllowed",
  "AccessDenied",
  "TargetUnreachable",
  "Blocked",
  "TlsFailed",
  "UnexpectedStatus",
  "ResponseTimeout",
  "ProtocolError",
] as const;

export type Reason = (typeof REASONS)[number];

/** The reasons that a probe can end in, other than success. */
export type ProbeFailure = Exclude<Reason, "Ready" | "NotChecked" | "NoAddress">;

/** What a person can do about each, as a sentence. */
export const REMEDIES: Record<Exclude<Reason, "Ready">, string> = {
  NotChecked: "Set wait: ready to have it checked.",
  NoAddress: "Look whether the machine runs and got an address, then run `pulumi up` again.",
  ConnectRefused: "Look whether the proxy's service runs on the machine and listens on that port.",
  ConnectTimeout: "Look whether the machine runs, and whether a firewall drops the connection.",
  Unreachable: "Look at the address, the name service, and the route from here to the proxy.",
  OpenProxy: "Restrict the proxy to allowedClients at once: strangers are being served.",
  PrivateDestinationAllowed: "Make the proxy deny private destinations: it opens the network it stands in.",
  AccessDenied:
    "Run the check from an address in allowedClients, or add its address there; proxies also deny private targets and ports other than 80 and 443.",
  TargetUnreachable:
    "Look whether target.url is up and whether the proxy's machine has a route and a name service.",
  Blocked: "Choose another target.url, or give the proxy another egress address.",
  TlsFailed:
    "Look at the target's certificate and at who intercepts TLS on the way; private CAs go into NODE_EXTRA_CA_CERTS.",
  UnexpectedStatus:
    "Compare target.expectedStatus with what target.url answers, and look at the proxy's log.",
  ResponseTimeout: "Look at the proxy's load and name service, or raise timeoutSeconds.",
  ProtocolError: "Look whether an HTTP proxy, and not another service, listens on that port.",
};
