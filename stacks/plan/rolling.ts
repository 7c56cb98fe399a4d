/**
 * How many members of a pool may be rebuilt at once: a number, or a percentage
 * of its size, rounded down. At least 1, or nothing could ever change.
 */
export function unavailableAtOnce(maxUnavailable: number | string, size: number): number {
  const share =
    typeof maxUnavailable === "number"
      ? maxUnavailable
      : Math.floor((size * Number.parseInt(maxUnavailable, 10)) / 100);
  return Math.max(1, share);
}

/**
 * The order of a rolling change: which members each member waits for. Members
 * that stand already are taken in groups, and each group waits for the one
 * before it; new ones wait for nobody, so that a new pool is built at once.
 */
export function rollingOrder(
  members: readonly string[],
  standing: ReadonlySet<string>,
  atOnce: number,
): Map<string, string[]> {
  const old = members.filter((member) => standing.has(member));
  const groupOf = (start: number) => old.slice(Math.max(0, start), Math.max(0, start + atOnce));
  const waits = old.map((member, index): [string, string[]] => [
    member,
    groupOf(index - (index % atOnce) - atOnce),
  ]);
  return new Map(waits);
}
