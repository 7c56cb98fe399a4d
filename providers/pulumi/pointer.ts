/**
 * What stands in every state as a resource's `__provider`: a pointer to this
 * package, and nothing else. The dynamic-provider process evaluates it, so the
 * code that runs is always the installed one, for old state too.
 *
 * The text, the package's name, `backends` and the kinds are an interface for
 * ever: state written today must still resolve after years.
 */
export const BACKEND_KINDS = ["kvm", "kvm2", "proxyCheck"] as const;
export type BackendKind = (typeof BACKEND_KINDS)[number];

export function pointer(kind: BackendKind): string {
  return `exports.handler = () => require("@egress-proxies/providers").backends.${kind};`;
}
