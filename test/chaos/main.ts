/**
 * `npm run chaos [-- --cuts 200 --seed N]`: random faults while two stacks race on one host.
 * Every cut's line names its seed; `--cuts 1 --seed N` has that cut again. Ends with 0 only if nothing failed.
 * EGRESS_LAB_NUMBER (default 21) picks the networks of its lab. Ctrl-C ends it after the cut of the moment.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { main } from "../../tools/common/say";
import { Lab } from "../../tools/lab/lab";
import { setUpPulumi } from "../../tools/pulumi/setup";
import { chaos } from "./chaos";

const DEFAULT_LAB_NUMBER = 21;

main(async () => {
  const { values } = parseArgs({
    options: { cuts: { type: "string", default: "200" }, seed: { type: "string" } },
  });
  const cuts = Number(values.cuts);
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (![cuts, seed].every(Number.isSafeInteger) || cuts < 1) {
    console.error("Usage: npm run chaos -- [--cuts NUMBER] [--seed NUMBER]");
    return 2;
  }
  const number = Number(process.env.EGRESS_LAB_NUMBER ?? DEFAULT_LAB_NUMBER);
  const directory = join(tmpdir(), `egress-chaos-${number}`);
  const lab = new Lab("egress-chaos", number, directory);
  process.env.EGRESS_TEST_BIN = await setUpPulumi();
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  await lab.up();
  try {
    const { landed, failures, seconds } = await chaos({
      lab: { directory, address: lab.address },
      cuts,
      seed,
      signal: interrupted.signal,
      say: console.log,
    });
    const kinds = [...landed].map(([kind, count]) => `${kind} ${count}`).join(", ");
    console.log(`\nseed ${seed}: ${kinds}; ${Math.round(seconds)} s; ${failures.length} failures`);
    for (const failure of failures) console.log(failure);
    return failures.length === 0 ? 0 : 1;
  } finally {
    await lab.down();
  }
});
