import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

/** Compares a rendered text with the checked-in one; UPDATE_SNAPSHOTS=1 writes it anew instead. */
export function matchSnapshot(name: string, text: string): void {
  const path = resolve(__dirname, "../../../../test/unit/squid/snapshots", name);
  if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(path, text);
  assert.ok(existsSync(path), `${path} is missing; run with UPDATE_SNAPSHOTS=1 and review what it writes`);
  assert.equal(text, readFileSync(path, "utf8"), `${name} changed; with UPDATE_SNAPSHOTS=1 it is taken over`);
}
