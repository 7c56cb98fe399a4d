import {
  type AddressRange,
  formatRange,
  intersect,
  normalize,
  parseCidr,
  type RangeFault,
  subtract,
} from "./address-range";
import { type Destination, parseDestination, requireValidSquidOptions, type SquidOptions } from "./options";

/**
 * What a crawler must not reach through a proxy: this network, private use, shared, loopback, link-local with the
 * cloud's metadata, benchmarks, multicast and reserved (RFC 6890), and the IPv6 ranges that lead to such IPv4
 * addresses: IPv4-compatible with `::` and `::1`, IPv4-translated (RFC 2765), NAT64 (RFC 6052, RFC 8215), Teredo,
 * 6to4. squid itself takes `::ffff:a.b.c.d` for IPv4.
 */
const PRIVATE_RANGES = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"],
  ...["::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fc00::/7"],
  ...["fe80::/10", "fec0::/10", "ff00::/8"],
];

/**
 * The whole squid.conf of an egress proxy, for squid 5.7 and newer. It stands in place of Debian's own, whose
 * rules deny neither loopback nor link-local. The same options give the same text, whatever the order of lists.
 *
 * @throws PermanentError `SquidOptionsInvalid`
 */
export function renderSquidConf(options: SquidOptions): string {
  requireValidSquidOptions(options);
  const clients = normalize(options.allowedClients.map(range));
  const rules = destinationRules((options.allowedDestinations ?? []).map(destination));
  const lines = [
    "# An egress proxy for crawlers. This file is the whole configuration: nothing else is read.",
    `http_port ${options.port}`,
    `visible_hostname ${options.visibleHostname}`,
    "",
    ...clients.map((client) => `acl crawlers src ${formatRange(client)}`),
    "acl safe_ports port 80 443",
    "acl tls_port port 443",
    `acl own_name dstdomain -n ${options.visibleHostname}`,
    ...rules.acls,
    "",
    "http_access deny !crawlers",
    "http_access deny manager",
    `http_access deny !safe_ports${rules.unlessExcepted}`,
    `http_access deny CONNECT !tls_port${rules.unlessExceptedPort}`,
    "http_access deny own_name",
    ...rules.denials,
    "http_access allow crawlers",
    "http_access deny all",
    "",
    "# Targets see a client, not a proxy: no Via, no X-Forwarded-For, no Cache-Control that squid would add.",
    "via off",
    "forwarded_for delete",
    "acl cache_control_sent req_header Cache-Control -i (no-cache|max-age)",
    "request_header_access Cache-Control allow cache_control_sent",
    "request_header_access Cache-Control deny all",
    "httpd_suppress_version_string on",
    "",
    "cache deny all",
    "pinger_enable off",
    `connect_timeout ${options.connectTimeoutSeconds ?? 10} seconds`,
    `shutdown_lifetime ${options.shutdownLifetimeSeconds ?? 10} seconds`,
  ];
  return `${lines.join("\n")}\n`;
}

interface DestinationRules {
  acls: string[];
  denials: string[];
  /** To append to a denial that exceptions are free of. */
  unlessExcepted: string;
  /** The same for exceptions with a port of their own. */
  unlessExceptedPort: string;
}

/**
 * Exceptions are cut out of the private ranges instead of being allowed ahead of them: squid matches a name when
 * any of its addresses matches, so a name with an excepted and a private address would pass an allow rule.
 */
function destinationRules(unordered: readonly Destination[]): DestinationRules {
  const exceptions = [...unordered].sort((a, b) => (exceptionKey(a) < exceptionKey(b) ? -1 : 1));
  const holes = exceptions.map((exception) => exception.range);
  const ranges = PRIVATE_RANGES.map(range);
  const denied = ranges.flatMap((denial) => subtract(denial, holes));
  const spared = normalize(ranges.flatMap((denial) => holes.flatMap((hole) => intersect(denial, hole))));
  const names = exceptions.map((_, index) => `exception_${index + 1}`);
  const namesWithPort = names.filter((_, index) => exceptions[index]?.port !== undefined);
  return {
    acls: [
      ...denied.map((denial) => `acl private dst ${formatRange(denial)}`),
      ...spared.map((hole) => `acl private_but_excepted dst ${formatRange(hole)}`),
      ...exceptions.flatMap((exception, index) => exceptionAcls(`exception_${index + 1}`, exception)),
      ...names.map((name) => `acl excepted any-of ${name}`),
      ...namesWithPort.map((name) => `acl excepted_port any-of ${name}`),
    ],
    denials: [
      "http_access deny private",
      ...(spared.length > 0 ? ["http_access deny private_but_excepted !excepted"] : []),
    ],
    unlessExcepted: names.length > 0 ? " !excepted" : "",
    unlessExceptedPort: namesWithPort.length > 0 ? " !excepted_port" : "",
  };
}

function exceptionAcls(name: string, exception: Destination): string[] {
  const address = `acl ${name}_address dst ${formatRange(exception.range)}`;
  if (exception.port === undefined) return [address, `acl ${name} all-of ${name}_address safe_ports`];
  return [
    address,
    `acl ${name}_port port ${exception.port}`,
    `acl ${name} all-of ${name}_address ${name}_port`,
  ];
}

function exceptionKey({ range, port }: Destination): string {
  return `${formatRange(range)} ${port ?? ""}`;
}

function range(text: string): AddressRange {
  return valid(parseCidr(text));
}

function destination(text: string): Destination {
  return valid(parseDestination(text));
}

/** For values that have been checked, or are our own. */
function valid<T extends object>(parsed: T | RangeFault): T {
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed;
}
