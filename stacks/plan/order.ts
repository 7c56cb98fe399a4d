const NUMBER = /^\d+$/;

/** Numbers by value and before all else, then by code point: 1, 2, 10, a, b. The same on every machine. */
export function naturalOrder(a: string, b: string): number {
  const [aNumber, bNumber] = [NUMBER.test(a), NUMBER.test(b)];
  if (aNumber && bNumber && Number(a) !== Number(b)) return Number(a) - Number(b);
  if (aNumber !== bNumber) return aNumber ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A map's entries by key, so that the order in which they were written changes nothing. */
export function ordered<T>(map: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(map).sort(([a], [b]) => naturalOrder(a, b));
}
