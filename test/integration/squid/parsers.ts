import { existsSync } from "node:fs";
import { join } from "node:path";

/** The path of a real parser that tools/parsers.sh has set up; for before hooks. */
export function parser(name: "squid" | "cloud-init"): string {
  const folder = process.env.EGRESS_TEST_PARSERS;
  if (folder === undefined || !existsSync(join(folder, name))) {
    throw new Error(
      `no ${name} for these tests: run tools/parsers.sh DIR and set EGRESS_TEST_PARSERS to the folder it prints ` +
        `(now ${folder ?? "not set"})`,
    );
  }
  return join(folder, name);
}
