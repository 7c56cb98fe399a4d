import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REASONS } from "@egress-proxies/providers/health/reasons";

/** The project's root, seen from dist/test/unit/docs. */
const ROOT = join(__dirname, "../../../..");
const ROOMS = ["providers", "stacks", "tools"];

/** Every CamelCase word in the value of a property `reason`, conditional ones included. */
function reasonsIn(source: string): string[] {
  return [...source.matchAll(/\breason:\s*([^,;}]+)/g)].flatMap(([, value = ""]) =>
    [...value.matchAll(/"([A-Z][A-Za-z]*[a-z][A-Za-z]*)"/g)].map(([, word = ""]) => word),
  );
}

function sources(room: string): string[] {
  return readdirSync(join(ROOT, room), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.ts$/.test(file) && !/\.d\.ts$|^dist\/|node_modules/.test(file))
    .map((file) => join(ROOT, room, file));
}

describe("docs/reasons.md", () => {
  /** Shown as progress only. */
  const passing = ["Recovering"];
  const used = new Set<string>([
    ...REASONS,
    ...ROOMS.flatMap(sources).flatMap((file) => reasonsIn(readFileSync(file, "utf8"))),
  ]);
  for (const word of passing) used.delete(word);

  const text = readFileSync(join(ROOT, "docs/reasons.md"), "utf8");
  const explained = new Set(
    text
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, word = ""]) => word)),
  );

  it("explains every reason that the code gives", () => {
    assert.ok(used.size > 60, `${used.size} reasons were found in the sources`);
    assert.deepEqual([...used].filter((word) => !explained.has(word)).sort(), []);
  });

  it("explains none that the code does not give", () => {
    assert.deepEqual([...explained].filter((word) => !used.has(word)).sort(), []);
  });
});
