/** One measured figure. */
export interface Figure {
  name: string;
  value: number;
  unit: "s" | "MiB" | "calls" | "bytes";
  /** What it is compared with, in the same unit, measured in the same run. */
  baseline?: number;
  /** What the project wants, in words. */
  aim?: string;
}

/** value / baseline: below 1 is better than what it is compared with. */
export function ratioOf({ value, baseline }: Figure): number | undefined {
  return baseline === undefined || baseline === 0 ? undefined : value / baseline;
}

/** By name, for programs; what does not apply is null. */
export function toJson(figures: readonly Figure[]): string {
  const entries = figures.map((figure) => {
    const { name, value, unit, baseline } = figure;
    const [base, ratio] = [baseline, ratioOf(figure)].map((number) => rounded(number));
    return [name, { value: rounded(value), unit, baseline: base, ratio }];
  });
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    shown(figure.value, figure.unit),
    figure.baseline === undefined ? "" : shown(figure.baseline, figure.unit),
    ratioOf(figure)?.toFixed(2) ?? "",
    figure.aim ?? "",
  ]);
  const all = [["figure", "measured", "compared with", "ratio", "aim"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}

function shown(value: number, unit: Figure["unit"]): string {
  return `${unit === "bytes" ? value : Number(value.toPrecision(3))} ${unit}`;
}

function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(4));
}
