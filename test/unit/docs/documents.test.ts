import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse } from "yaml";
import { parseConfig } from "../../../stacks/config/parse";
import { rawConfig } from "../../../stacks/raw-config";

/** The project's root, seen from dist/test/unit/docs. */
const ROOT = join(__dirname, "../../../..");

const documents = ["", "docs", "tools"]
  .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(ROOT, folder, name)))
  .filter((file) => file.endsWith(".md"));
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** A heading's anchor, as GitHub makes it. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

function anchorsOf(file: string): string[] {
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchor(heading));
}

describe("documents", () => {
  for (const file of documents) {
    const text = readFileSync(file, "utf8");

    it(`${relative(ROOT, file)} links to what is there`, () => {
      const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = ""]) => link);
      const broken = links.filter((link) => {
        const [path = "", fragment] = link.split("#");
        const target = path === "" ? file : join(dirname(file), path);
        if (!existsSync(target)) return true;
        return fragment !== undefined && !anchorsOf(target).includes(fragment);
      });
      assert.deepEqual(broken, []);
    });

    it(`${relative(ROOT, file)} names npm scripts that there are`, () => {
      const named = [...text.matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)].map(([, name = ""]) => name);
      assert.deepEqual(
        named.filter((name) => !(name in scripts)),
        [],
      );
    });

    const examples = [...text.matchAll(/^```yaml\n(config:\n[\s\S]*?)^```/gm)].map(([, yaml = ""]) => yaml);
    for (const [index, yaml] of examples.entries()) {
      it(`${relative(ROOT, file)} shows a config that passes the checks (${index + 1})`, () => {
        const { config } = parse(yaml) as { config: Record<string, unknown> };
        const values = Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]);
        const parsed = parseConfig(rawConfig(Object.fromEntries(values)), { project: "p", stack: "prod" });
        assert.deepEqual("problems" in parsed ? parsed.problems : [], []);
      });
    }
  }
});
