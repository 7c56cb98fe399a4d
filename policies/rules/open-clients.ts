import { unpackText } from "@egress-proxies/providers/machine/packed-text";
import { type AddressRange, contains, parseCidr } from "@egress-proxies/providers/squid/address-range";
import type { ResourceValidationPolicy } from "@pulumi/policy";
import { forChecks, forMachines } from "../resources";
import { violation } from "../violation";

export interface OpenClientsOptions {
  /** The shortest prefix of a public IPv4 range, 0 to 32. Default: 24. */
  shortestIPv4?: number;
  /** The shortest prefix of a public IPv6 range, 0 to 128. Default: 48. */
  shortestIPv6?: number;
}

/** Private, shared and loopback addresses (RFC 1918, 6598, 4193, 4291): nobody comes from there by the internet. */
const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8"]
  .concat("169.254.0.0/16", "fc00::/7", "fe80::/10", "::1/128")
  .map((text) => parseCidr(text) as AddressRange);

/** `http_access allow all` in a squid.conf, wherever it stands in user-data. */
const ALLOWS_ALL = /^[^#\n]*?\bhttp_access[ \t]+allow[ \t]+all[ \t]*\\?["']?[ \t]*$/m;

/** A proxy is open to the crawler's networks, never to the world. */
export function openClients(options: OpenClientsOptions = {}): ResourceValidationPolicy {
  const prefix = (maximum: number) => ({ type: "integer" as const, minimum: 0, maximum });
  return {
    name: "open-clients",
    description: "Proxies are not open to the world.",
    configSchema: { properties: { shortestIPv4: prefix(32), shortestIPv6: prefix(128) } },
    validateResource: [
      forChecks(({ name, props, config, report }) => {
        const limits = { shortestIPv4: 24, shortestIPv6: 48, ...options, ...(config as OpenClientsOptions) };
        for (const [index, value] of props.allowedClients.entries()) {
          const problem = clientsProblem(value, { 4: limits.shortestIPv4, 6: limits.shortestIPv6 });
          if (problem === undefined) continue;
          const remedy = "Name the crawler's own networks in allowedClients.";
          report(violation({ resource: name, property: `allowedClients[${index}]`, value, problem, remedy }));
        }
      }),
      forMachines(({ name, props, report }) => {
        const text = unpackText(props.userData).replace(/\\[nrt]/g, "\n");
        if (!ALLOWS_ALL.test(text)) return;
        const problem = "has the line `http_access allow all`: an open proxy";
        const remedy = "Allow an acl of the crawler's own networks (`acl crawlers src ...`), and deny all.";
        report(violation({ resource: name, property: "userData", problem, remedy }));
      }),
    ],
  };
}

function clientsProblem(client: string, shortest: Record<4 | 6, number>): string | undefined {
  const range = parseCidr(client);
  if ("problem" in range) return "is no address or CIDR";
  if (PRIVATE.some((own) => contains(own, range))) return undefined;
  const bits = range.family === 4 ? 32 : 128;
  const prefix = bits + 1 - (range.last - range.first + 1n).toString(2).length;
  if (prefix === 0) return "is the whole world: an open proxy";
  if (prefix >= shortest[range.family]) return undefined;
  return `is public and wider than /${shortest[range.family]}`;
}
