// Pure: does an installed tree match the lock file?

/**
 * The paths (`node_modules/zod`) whose installed version is not the locked one.
 * @param wanted the parsed package-lock.json
 * @param installed the parsed node_modules/.package-lock.json, undefined if there is none
 * Optional packages may be absent: npm leaves out those of other platforms.
 */
export function mismatches(wanted, installed) {
  const found = installed?.packages ?? {};
  return Object.entries(wanted.packages)
    .filter(([where]) => where.startsWith("node_modules/"))
    .filter(([where, entry]) => {
      const there = found[where];
      if (there === undefined) return !entry.optional;
      return there.version !== entry.version || there.integrity !== entry.integrity;
    })
    .map(([where]) => where);
}
