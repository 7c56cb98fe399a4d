export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };

export function sum(counts: Iterable<Counts>): Counts {
  let total = NONE;
  for (const each of counts) {
    total = {
      passed: total.passed + each.passed,
      failed: total.failed + each.failed,
      skipped: total.skipped + each.skipped,
    };
  }
  return total;
}

/** `12 passed, 0 failed`, and `, 1 skipped` if any. */
export function line({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

/** 0 only if tests ran and none failed: a run without tests proves nothing. */
export function exitStatus({ passed, failed }: Counts): number {
  return failed === 0 && passed > 0 ? 0 : 1;
}

/**
 * What one run of mocha amounts to. A run that ended badly without a failed test (a crash, an error while
 * loading) counts as one failure: it must not look like a pass.
 */
export function verdict(reported: Counts | undefined, status: number): Counts {
  const counts = reported ?? NONE;
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}
