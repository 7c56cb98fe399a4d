/** Address ranges as squid.conf takes them: parsed from CIDRs, put in order, cut out of each other. Pure. */
export interface AddressRange {
  family: 4 | 6;
  /** The first and the last address, as numbers. */
  first: bigint;
  last: bigint;
}

/** Why a text is no usable range, and what to write instead. */
export interface RangeFault {
  problem: string;
  remedy: string;
}

/** Parses `ADDRESS` or `ADDRESS/PREFIX`; a lone address is a range of one. */
export function parseCidr(text: string): AddressRange | RangeFault {
  const [, address = "", length] = /^([0-9A-Fa-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const family = address.includes(":") ? 6 : 4;
  const given = family === 6 ? parseIPv6(address) : parseIPv4(address);
  const prefix = length === undefined ? BITS[family] : Number(length);
  if (given === undefined || prefix > BITS[family]) {
    return {
      problem: `${JSON.stringify(text)} is no address or CIDR`,
      remedy: "Write it like 192.0.2.0/24 or 2001:db8::/32",
    };
  }
  if (family === 6 && given >> 32n === 0xffffn) {
    return { problem: `${text} is IPv4 in the form of IPv6`, remedy: "Write it as IPv4" };
  }
  const size = 1n << BigInt(BITS[family] - prefix);
  const first = given - (given % size);
  const range: AddressRange = { family, first, last: first + size - 1n };
  if (first === given) return range;
  return {
    problem: `${text} has bits set beyond its prefix`,
    remedy: `Write ${formatRange(range)} for the network, or the address alone`,
  };
}

/** As a CIDR with its prefix where it is one, else as `FIRST-LAST`; addresses in their usual short form (RFC 5952). */
export function formatRange({ family, first, last }: AddressRange): string {
  const address = family === 4 ? formatIPv4 : formatIPv6;
  const size = last - first + 1n;
  const isCidr = (size & (size - 1n)) === 0n && first % size === 0n;
  if (!isCidr) return `${address(first)}-${address(last)}`;
  return `${address(first)}/${BITS[family] + 1 - size.toString(2).length}`;
}

/** Every address of its family? */
export function isEverything({ family, first, last }: AddressRange): boolean {
  return last - first + 1n === 1n << BigInt(BITS[family]);
}

/** IPv4 first, then by number; none twice, and none that lies within another. */
export function normalize(ranges: readonly AddressRange[]): AddressRange[] {
  const kept: AddressRange[] = [];
  for (const range of [...ranges].sort(byAddress)) {
    const previous = kept.at(-1);
    if (previous === undefined || !contains(previous, range)) kept.push(range);
  }
  return kept;
}

/** What is left of `range` without the addresses in `holes`, in order. */
export function subtract(range: AddressRange, holes: readonly AddressRange[]): AddressRange[] {
  let rest = [range];
  for (const hole of holes) {
    rest = rest.flatMap((piece) => {
      if (intersect(piece, hole).length === 0) return [piece];
      return [
        { ...piece, last: hole.first - 1n },
        { ...piece, first: hole.last + 1n },
      ].filter(({ first, last }) => first <= last);
    });
  }
  return rest;
}

/** The addresses in both, if any. */
export function intersect(a: AddressRange, b: AddressRange): AddressRange[] {
  const first = compare(a.first, b.first) > 0 ? a.first : b.first;
  const last = compare(a.last, b.last) < 0 ? a.last : b.last;
  return a.family === b.family && first <= last ? [{ family: a.family, first, last }] : [];
}

export function contains(outer: AddressRange, inner: AddressRange): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

const BITS = { 4: 32, 6: 128 } as const;

/** By family and first address; of those that begin together the widest comes first. */
function byAddress(a: AddressRange, b: AddressRange): number {
  return a.family - b.family || compare(a.first, b.first) || compare(b.last, a.last);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
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
