/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  if (upper === undefined) throw new RangeError("the median of nothing");
  return Number.isInteger(middle) ? (sorted[middle - 1]! + upper) / 2 : upper;
}

/** Seconds that `work` takes. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

/**
 * Runs all sides in turn, `rounds` times over (A B A B): what else the machine
 * does meanwhile falls on all of them alike.
 */
export async function inTurn<Side extends string, T>(
  rounds: number,
  sides: Record<Side, (round: number) => Promise<T>>,
): Promise<Record<Side, T[]>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Side, T[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) results[name].push(await sides[name](round));
  }
  return results;
}
