import { BlockList, isIP } from "node:net";

/** An address of this machine and the interface that carries it. */
export interface LocalAddress {
  address: string;
  interfaceName: string;
}

export interface Cidr {
  address: string;
  prefix: number;
  family: "ipv4" | "ipv6";
}

/** `undefined` for what is no CIDR. A prefix length is required: `10.0.0.1/32`, not `10.0.0.1`. */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/.exec(text);
  const address = match?.[1] ?? "";
  const prefix = Number(match?.[2]);
  const version = isIP(address);
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return undefined;
  return { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** Whether an address lies in one of the CIDRs. */
export function isWithin(cidrs: readonly string[], address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  const list = new BlockList();
  for (const cidr of cidrs) {
    const parsed = parseCidr(cidr);
    if (parsed) list.addSubnet(parsed.address, parsed.prefix, parsed.family);
  }
  return list.check(address, version === 4 ? "ipv4" : "ipv6");
}

export interface Outsider {
  address: string;
  /**
   * Whether the proxy is sure to see this very address. An address of another
   * interface (a container bridge, a libvirt network) is often rewritten on its
   * way out to the address that is allowed, so being served proves nothing then.
   */
  conclusive: boolean;
}

/**
 * The addresses from which this machine can play a client that must be refused,
 * the conclusive ones first. None where `allowedClients` is empty: who is an
 * outsider is unknown then.
 *
 * @param used the local address by which the proxy was reached
 */
export function outsiders(
  local: readonly LocalAddress[],
  used: string,
  allowedClients: readonly string[],
): Outsider[] {
  if (allowedClients.length === 0) return [];
  const usedInterface = local.find(({ address }) => address === used)?.interfaceName;
  return local
    .filter(({ address }) => address !== used && isIP(address) === isIP(used))
    .filter(({ address }) => !isWithin(allowedClients, address))
    .map(({ address, interfaceName }) => ({ address, conclusive: interfaceName === usedInterface }))
    .sort((a, b) => Number(b.conclusive) - Number(a.conclusive));
}
