import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { generated } from "../../../stacks/config/generated";
import { parseConfig } from "../../../stacks/config/parse";
import { EXAMPLE } from "../../../stacks/config/reference";
import { configSchema } from "../../../stacks/config/schema";
import { optionOf } from "../../../stacks/config/walk";
import { rawConfig } from "../../../stacks/raw-config";
import { context } from "./sample";

/** The project's root, seen from dist/test/unit/stacks. */
const ROOT = join(__dirname, "../../../..");

describe("generated documentation", () => {
  for (const [path, text] of Object.entries(generated())) {
    it(`${path} is up to date (npm run docs)`, () => {
      assert.equal(readFileSync(join(ROOT, path), "utf8"), text);
    });
  }

  it("shows an example that passes the checks", () => {
    const { config } = parse(EXAMPLE) as { config: Record<string, unknown> };
    const all = Object.fromEntries(
      Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]),
    );
    assert.deepEqual(
      Object.keys(parseConfig(rawConfig(all), context)),
      ["config"],
      JSON.stringify(parseConfig(rawConfig(all), context)),
    );
  });

  it("describes every option", () => {
    const undescribed: string[] = [];
    const visit = (path: string, schema: z.core.$ZodType): void => {
      const { schema: inner } = optionOf(schema);
      if (inner instanceof z.ZodRecord) visit(`${path}.*`, inner.valueType);
      if (inner instanceof z.ZodArray) visit(`${path}[]`, inner.element);
      if (inner instanceof z.ZodUnion) for (const variant of inner.options) visit(path, variant);
      if (!(inner instanceof z.ZodObject)) return;
      for (const [key, value] of Object.entries(inner.shape)) {
        if (optionOf(value).description === undefined) undescribed.push(`${path}.${key}`);
        visit(`${path}.${key}`, value);
      }
    };
    visit("egress", configSchema);
    assert.deepEqual(undescribed, []);
  });
});
