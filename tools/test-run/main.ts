/**
 * `npm test` and its parts. Usage: main.js [unit] [component] [integration] [e2e]
 * The last line is `N passed, N failed`; the status is 0 only if tests ran and none failed.
 */
import type { ChildProcess } from "node:child_process";
import { main } from "../common/say";
import { type Counts, exitStatus, line, sum } from "./counts";
import { chosenKinds, KINDS, type Kind, LAB_KINDS } from "./kinds";
import { runMocha } from "./mocha";
import { bringUp, type Surroundings } from "./surroundings";

const INTERRUPTED = 130;
let interrupted = false;
let running: ChildProcess | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interrupted = true; // the lab is taken down in the end, as always
    running?.kill(signal);
  });
}

main(async () => {
  const chosen = chosenKinds(process.argv.slice(2));
  if ("unknown" in chosen) {
    console.error(`There is no kind of test named "${chosen.unknown}". The kinds are ${KINDS.join(", ")}.`);
    return 2;
  }
  const results = new Map<Kind, Counts>();
  let lab: Surroundings | undefined;
  try {
    for (const kind of chosen.kinds) {
      if (interrupted) break;
      if (LAB_KINDS.includes(kind)) lab ??= await bringUp();
      console.log(`\n=== ${kind} tests ===`);
      const env = { ...process.env, ...lab?.env };
      results.set(
        kind,
        await runMocha(kind, env, (child) => {
          running = child;
        }),
      );
    }
  } finally {
    await lab?.down();
  }
  console.log();
  for (const [kind, counts] of results) console.log(`${kind}: ${line(counts)}`);
  const total = sum(results.values());
  console.log(line(total));
  return interrupted ? INTERRUPTED : exitStatus(total);
});
