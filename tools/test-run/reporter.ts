import { writeFileSync } from "node:fs";

import Mocha = require("mocha");

import type { Counts } from "./counts";

/** Mocha's `spec` reporter, which also leaves the counts in the file that EGRESS_TEST_COUNTS names. */
class CountingSpec extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.once("end", () => {
      const file = process.env.EGRESS_TEST_COUNTS;
      if (file === undefined) return;
      const { passes, failures, pending } = this.stats;
      const counts: Counts = { passed: passes, failed: failures, skipped: pending };
      writeFileSync(file, JSON.stringify(counts));
    });
  }
}

export = CountingSpec;
