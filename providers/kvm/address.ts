import {
  type DhcpLease,
  type Domain,
  DomainInterfaceSource,
  type LibvirtClient,
  LibvirtError,
} from "../libvirt";

/** Whether crawlers could reach it: not loopback, link-local, multicast or unspecified. */
export function isRoutableIpv4(address: string): boolean {
  const bytes = address.split(".").map(Number);
  if (bytes.length !== 4 || bytes.some((byte) => !Number.isInteger(byte) || byte < 0 || byte > 255))
    return false;
  const [first, second] = bytes as [number, number, number, number];
  return first !== 0 && first !== 127 && first < 224 && !(first === 169 && second === 254);
}

/** The address of the youngest lease of our MAC that runs out after `newerThan` (seconds since the epoch; 0 never does). */
export function leasedAddress(leases: DhcpLease[], mac: string, newerThan = 0n): string | undefined {
  const ours = leases.filter(
    (lease) =>
      lease.mac?.toLowerCase() === mac &&
      (lease.expiry === 0n || lease.expiry > newerThan) &&
      isRoutableIpv4(lease.ipaddr),
  );
  return ours.sort((a, b) => (a.expiry < b.expiry ? 1 : -1))[0]?.ipaddr;
}

/** When the youngest lease of our MAC runs out: a guest that boots gets a later one. */
export function leaseExpiry(leases: DhcpLease[], mac: string): bigint {
  let latest = 0n;
  for (const lease of leases) {
    if (lease.mac?.toLowerCase() === mac && lease.expiry > latest) latest = lease.expiry;
  }
  return latest;
}

/**
 * Asks the guest agent, then the host's ARP table, for the address of our MAC.
 * One source may fail without failing the other: an agent that is not up yet
 * answers with an error, and some kernels always fail the ARP source.
 */
export async function askedAddress(
  client: LibvirtClient,
  domain: Domain,
  mac: string,
): Promise<string | undefined> {
  for (const source of [DomainInterfaceSource.AGENT, DomainInterfaceSource.ARP]) {
    try {
      for (const { hwaddr, addrs } of await client.domainInterfaceAddresses(domain, source)) {
        if (hwaddr?.toLowerCase() !== mac) continue;
        const found = addrs.find(({ addr }) => isRoutableIpv4(addr));
        if (found !== undefined) return found.addr;
      }
    } catch (error) {
      if (!(error instanceof LibvirtError)) throw error;
    }
  }
  return undefined;
}
