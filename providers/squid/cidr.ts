/** Address ranges as squid.conf takes them: parsed, checked, put in order, cut out of each other. Pure. */
export interface Cidr {
  family: 4 | 6;
  /** The first address, as a number; every bit beyond the prefix is zero. */
  first: bigint;
  /** Fixed leading bits: 0 to 32 or 0 to 128. */
  prefix: number;
}

/** Why a text is no usable range, and what to write instead. */
export interface CidrFault {
  problem: string;
  remedy: string;
}

/** Parses `ADDRESS` or `ADDRESS/PREFIX`; a lone address is a range of one. */
export function parseCidr(text: string): Cidr | CidrFault {
  const [, address = "", length] = /^([0-9A-Fa-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const family = address.includes(":") ? 6 : 4;
  const first = family === 6 ? parseIPv6(address) : parseIPv4(address);
  const prefix = length === undefined ? bits(family) : Number(length);
  if (first === undefined || prefix > bits(family)) {
    return {
      problem: `${JSON.stringify(text)} is no address or CIDR`,
      remedy: "Write it like 192.0.2.0/24 or 2001:db8::/32",
    };
  }
  if (family === 6 && first >> 32n === 0xffffn) {
    return { problem: `${text} is IPv4 in the form of IPv6`, remedy: "Write it as IPv4" };
  }
  const beyond = first % size({ family, prefix });
  const cidr: Cidr = { family, first: first - beyond, prefix };
  if (beyond === 0n) return cidr;
  return {
    problem: `${text} has bits set beyond its prefix`,
    remedy: `Write ${formatCidr(cidr)} for the network, or the address alone`,
  };
}

/** The range in its shortest usual form (RFC 5952), always with its prefix. */
export function formatCidr({ family, first, prefix }: Cidr): string {
  return `${family === 4 ? formatIPv4(first) : formatIPv6(first)}/${prefix}`;
}

/** IPv4 first, then by number; none twice, and none that lies within another. */
export function normalize(ranges: readonly Cidr[]): Cidr[] {
  const order = (a: Cidr, b: Cidr) =>
    a.family - b.family || (a.first < b.first ? -1 : a.first > b.first ? 1 : a.prefix - b.prefix);
  const kept: Cidr[] = [];
  for (const range of [...ranges].sort(order)) {
    const last = kept.at(-1);
    if (last === undefined || !contains(last, range)) kept.push(range);
  }
  return kept;
}

/** The addresses in both, if any. */
export function intersect(a: Cidr, b: Cidr): Cidr[] {
  if (contains(a, b)) return [b];
  return contains(b, a) ? [a] : [];
}

/** What is left of `range` without the addresses in `holes`, as the fewest ranges. */
export function subtract(range: Cidr, holes: readonly Cidr[]): Cidr[] {
  const relevant = holes.filter((hole) => intersect(range, hole).length > 0);
  if (relevant.length === 0) return [range];
  if (relevant.some((hole) => contains(hole, range))) return [];
  const lower: Cidr = { ...range, prefix: range.prefix + 1 };
  const upper: Cidr = { ...lower, first: range.first + size(lower) };
  return [...subtract(lower, relevant), ...subtract(upper, relevant)];
}

export function contains(outer: Cidr, inner: Cidr): boolean {
  return (
    outer.family === inner.family &&
    outer.prefix <= inner.prefix &&
    inner.first - (inner.first % size(outer)) === outer.first
  );
}

function bits(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

/** How many addresses it holds. */
function size({ family, prefix }: Pick<Cidr, "family" | "prefix">): bigint {
  return 1n << BigInt(bits(family) - prefix);
}

/** Four decimal octets; no leading zeros, which some software reads as octal. */
function parseIPv4(text: string): bigint | undefined {
  const octets = text.split(".");
  if (octets.length !== 4 || !octets.every((o) => /^(0|[1-9]\d{0,2})$/.test(o) && Number(o) < 256)) {
    return undefined;
  }
  return octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}

/** RFC 4291, 2.2: eight groups, one `::`, and perhaps an IPv4 address at the end. */
function parseIPv6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (head === undefined) return undefined;
  const last = tail.length > 0 || halves.length === 2 ? tail : head;
  const dotted = last.at(-1);
  if (dotted?.includes(".")) {
    const v4 = parseIPv4(dotted);
    if (v4 === undefined) return undefined;
    last.splice(-1, 1, (v4 >> 16n).toString(16), (v4 & 0xffffn).toString(16));
  }
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<string>(missing).fill("0"), ...tail];
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

function formatIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  );
  const text = groups.join(":");
  const zeros = [...text.matchAll(/\b0(?::0)+\b/g)].sort((a, b) => b[0].length - a[0].length)[0];
  if (zeros === undefined) return text;
  const before = text.slice(0, zeros.index).replace(/:$/, "");
  const after = text.slice(zeros.index + zeros[0].length).replace(/^:/, "");
  return `${before}::${after}`;
}
