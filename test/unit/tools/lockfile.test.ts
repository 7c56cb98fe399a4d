import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../../tools/common/paths";

type Lock = { packages: Record<string, { version?: string; integrity?: string; optional?: boolean }> };

describe("tools: does node_modules match package-lock.json", () => {
  let mismatches: (wanted: Lock, installed: Lock | undefined) => string[];

  before(async () => {
    // The bootstrap runs before anything is compiled, so it is plain JavaScript and has no types.
    const module: { mismatches: typeof mismatches } = await import(
      pathToFileURL(path.join(root, "tools/bootstrap/lockfile.mjs")).href
    );
    mismatches = module.mismatches;
  });

  const wanted: Lock = {
    packages: {
      "": { version: "0.1.0" },
      providers: { version: "0.1.0" },
      "node_modules/zod": { version: "4.6.7", integrity: "sha512-a" },
      "node_modules/other-platform": { version: "1.0.0", optional: true },
    },
  };

  it("is content with the same versions, and with optional packages of other platforms absent", () => {
    assert.deepEqual(
      mismatches(wanted, { packages: { "node_modules/zod": { version: "4.6.7", integrity: "sha512-a" } } }),
      [],
    );
  });

  it("names what is missing, of another version, or of other content", () => {
    assert.deepEqual(mismatches(wanted, undefined), ["node_modules/zod"]);
    assert.deepEqual(mismatches(wanted, { packages: {} }), ["node_modules/zod"]);
    assert.deepEqual(
      mismatches(wanted, { packages: { "node_modules/zod": { version: "4.6.8", integrity: "sha512-a" } } }),
      ["node_modules/zod"],
    );
    assert.deepEqual(
      mismatches(wanted, { packages: { "node_modules/zod": { version: "4.6.7", integrity: "sha512-b" } } }),
      ["node_modules/zod"],
    );
  });
});
