import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The project's root, seen from dist/test/unit/docs. */
const ROOT = join(__dirname, "../../../..");
const ROOM = join(ROOT, "providers/images");

describe("docs/images.md", () => {
  it("has a remedy for every error on an image's way, and for none that there is not", () => {
    const used = readdirSync(ROOM).flatMap((file) =>
      [...readFileSync(join(ROOM, file), "utf8").matchAll(/\breason:\s*([^,;}]+)/g)].flatMap(
        ([, value = ""]) =>
          [...value.matchAll(/"([A-Z][A-Za-z]*[a-z][A-Za-z]*)"/g)].map(([, word = ""]) => word),
      ),
    );
    const [, errors = ""] = readFileSync(join(ROOT, "docs/images.md"), "utf8").split("\n## Errors\n");
    const explained = errors
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, word = ""]) => word));
    assert.ok(used.length > 30, `${used.length} reasons were found in the sources`);
    assert.deepEqual([...new Set(explained)].sort(), [...new Set(used)].sort());
  });
});
