import { PermanentError } from "../machine/errors";
import { type AddressRange, intersect, isEverything, parseCidr, type RangeFault } from "./address-range";

/** What a proxy's squid is to do. */
export interface SquidOptions {
  /** The port for crawlers, 1 to 65535, neither 80 nor 443. */
  port: number;
  /** The proxy's own host name. Without it squid would look it up three times at every start. */
  visibleHostname: string;
  /** Who may use the proxy: addresses or ranges, at least one, never everyone. */
  allowedClients: readonly string[];
  /**
   * Private destinations that are allowed after all: `ADDRESS`, `ADDRESS/PREFIX`, or either with `:PORT` (IPv6 then
   * in brackets: `[fd00::1]:8080`). Without a port 80 and 443 are meant, CONNECT only to 443; with one it is that
   * port alone, CONNECT too. Nothing in 0.0.0.0/8 or ::/96. Default: none.
   */
  allowedDestinations?: readonly string[];
  /** How long running requests may finish when squid stops, 0 to 3600. Default: 10. */
  shutdownLifetimeSeconds?: number;
  /** How long a connection to a target may take, 1 to 300. Default: 10. */
  connectTimeoutSeconds?: number;
}

export interface OptionProblem {
  /** The property that is wrong: `allowedClients[0]`. */
  path: string;
  problem: string;
  remedy: string;
}

/** A parsed entry of `allowedDestinations`. */
export interface Destination {
  range: AddressRange;
  port?: number;
}

/** Labels as in RFC 1123, underscores allowed because machine names may have them. */
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*$/;

/**
 * squid takes 0.0.0.0 and :: for one and the same, and drops parts of these ranges from a list that has them in
 * pieces (seen on 5.7), so no exception may cut them. IPv6's loopback is among them.
 */
const UNSPECIFIED: AddressRange[] = [
  { family: 4, first: 0n, last: (1n << 24n) - 1n },
  { family: 6, first: 0n, last: (1n << 32n) - 1n },
];

/** Everything that is wrong with the options; empty where they are fine. Nothing that passes can add a directive. */
export function squidOptionsProblems(options: SquidOptions): OptionProblem[] {
  const problems: OptionProblem[] = [];
  const report = (path: string, problem: string, remedy: string) => problems.push({ path, problem, remedy });
  const number = (path: string, value: number, least: number, most: number, unit: string) => {
    if (Number.isInteger(value) && value >= least && value <= most) return;
    report(path, `${shown(value)} is no whole number from ${least} to ${most}`, `Give ${unit} in that range`);
  };

  number("port", options.port, 1, 65535, "a port");
  if (options.port === 80 || options.port === 443) {
    report(
      "port",
      `${options.port} is a port that targets use, so a request to the proxy's own address would come back to it without end`,
      "Use another one, such as 3128",
    );
  }
  if (typeof options.visibleHostname !== "string" || !HOST_NAME.test(options.visibleHostname)) {
    report(
      "visibleHostname",
      `${shown(options.visibleHostname)} is no host name`,
      "Use letters, digits, hyphens and dots, at most 63 characters between dots",
    );
  }
  if (options.allowedClients.length === 0) {
    report(
      "allowedClients",
      "is empty, so nobody could use the proxy",
      "Name the crawlers' networks as CIDRs",
    );
  }
  for (const [index, entry] of options.allowedClients.entries()) {
    const path = `allowedClients[${index}]`;
    const range = parseCidr(String(entry));
    if ("problem" in range) report(path, range.problem, range.remedy);
    else if (isEverything(range)) {
      report(path, `${entry} is everyone: an open proxy`, "Name the crawlers' own networks");
    }
  }
  for (const [index, entry] of (options.allowedDestinations ?? []).entries()) {
    const path = `allowedDestinations[${index}]`;
    const destination = parseDestination(String(entry));
    if ("problem" in destination) report(path, destination.problem, destination.remedy);
    else if (isEverything(destination.range)) {
      report(path, `${entry} is every address there is`, "Name the single private targets");
    } else if (UNSPECIFIED.some((range) => intersect(range, destination.range).length > 0)) {
      report(
        path,
        `${entry} reaches into 0.0.0.0/8 or ::/96, where no target is`,
        "Name IPv4 targets by their IPv4 addresses, loopback by 127.0.0.1",
      );
    } else if (destination.port === options.port) {
      report(
        path,
        `${entry} names the proxy's own port, so the proxy could be made to call itself without end`,
        "Use another port for the proxy or for the target",
      );
    }
  }
  number("shutdownLifetimeSeconds", options.shutdownLifetimeSeconds ?? 10, 0, 3600, "seconds");
  number("connectTimeoutSeconds", options.connectTimeoutSeconds ?? 10, 1, 300, "seconds");
  return problems;
}

/** Throws a PermanentError `SquidOptionsInvalid` that lists every problem. */
export function requireValidSquidOptions(options: SquidOptions): void {
  const problems = squidOptionsProblems(options);
  if (problems.length === 0) return;
  throw new PermanentError({
    reason: "SquidOptionsInvalid",
    where: "squid options",
    message: problems.map(({ path, problem, remedy }) => `${path}: ${problem} (${remedy})`).join("; "),
  });
}

/** Parses an entry of `allowedDestinations`. */
export function parseDestination(entry: string): Destination | RangeFault {
  const withPort = /^\[([^\]]*)\]:(.*)$/s.exec(entry) ?? /^([^:]*):([^:]*)$/.exec(entry);
  const range = parseCidr(withPort?.[1] ?? entry);
  if ("problem" in range) return range;
  if (withPort === null) return { range };
  const digits = withPort[2] ?? "";
  const port = Number(digits);
  if (/^[1-9]\d{0,4}$/.test(digits) && port <= 65535) return { range, port };
  return {
    problem: `${shown(entry)} has a port that is no number from 1 to 65535`,
    remedy: "Correct the port",
  };
}

/** A hostile value as one line of printable characters. */
function shown(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
