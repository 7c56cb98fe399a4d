/**
 * `npm run bench`: measures what docs/benchmarks.md describes, on a lab host of its own.
 * Usage: main.js [--json FILE] [--only NAME,...] [--quick]
 */
import { writeFile } from "node:fs/promises";
import { main, say } from "../tools/common/say";
import { setUpPulumi } from "../tools/pulumi/setup";
import { measureCalls } from "./calls";
import { type Figure, toJson, toTable } from "./figures";
import { type BenchLab, withLab } from "./lab";
import { measureMachines } from "./machines";
import { type Measurement, parseOptions } from "./options";
import { measurePublication } from "./publish";
import { measureUpload } from "./upload";

const measure: Record<Measurement, (lab: BenchLab, quick: boolean) => Promise<Figure[]>> = {
  upload: measureUpload,
  publish: measurePublication,
  calls: measureCalls,
  machines: measureMachines,
};

main(async () => {
  const { json, only, quick } = parseOptions(process.argv.slice(2));
  if (only.includes("machines")) await setUpPulumi();
  const figures = await withLab(async (lab) => {
    const all: Figure[] = [];
    for (const name of only) {
      say(`measuring ${name}`);
      all.push(...(await measure[name](lab, quick)));
    }
    return all;
  });
  console.log(`\n${toTable(figures)}`);
  if (quick)
    console.log("\nSmall sizes and one round: this shows that the benchmark runs, not how fast anything is.");
  if (json !== undefined) await writeFile(json, toJson(figures));
  return 0;
});
