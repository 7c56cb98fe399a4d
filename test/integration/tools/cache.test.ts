import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { cached } from "../../../tools/common/cache";

describe("tools: the cache", () => {
  let parent: string;
  let folder: string;

  beforeEach(() => {
    parent = mkdtempSync(path.join(os.tmpdir(), "egress-cache-"));
    folder = path.join(parent, "thing");
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  it("makes a folder once and uses it again", async () => {
    let made = 0;
    const make = async (partial: string) => {
      made += 1;
      assert.ok(!existsSync(folder), "nothing is visible before it is complete");
      writeFileSync(path.join(partial, "file"), "whole");
    };
    assert.equal(await cached(folder, make), folder);
    await cached(folder, make);
    assert.equal(made, 1);
    assert.equal(readFileSync(path.join(folder, "file"), "utf8"), "whole");
  });

  it("publishes one whole folder when two runs make it at once", async () => {
    let waiting = 0;
    let release = () => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const make = (text: string) => async (partial: string) => {
      writeFileSync(path.join(partial, "one"), text);
      waiting += 1;
      if (waiting === 2) release();
      await both;
      writeFileSync(path.join(partial, "two"), text);
    };
    await Promise.all([cached(folder, make("a")), cached(folder, make("b"))]);
    const read = (name: string) => readFileSync(path.join(folder, name), "utf8");
    assert.equal(read("one"), read("two"));
    assert.deepEqual(readdirSync(parent), ["thing"]);
  });

  it("leaves nothing behind when making fails, and removes what a killed run left", async () => {
    const noProcess = 2 ** 22 + 1; // above the kernel's highest process id
    mkdirSync(path.join(parent, `.partial-${noProcess}-abcdef`));
    mkdirSync(path.join(parent, ".partial-1-abcdef")); // process 1 lives
    const failing = () => Promise.reject(new Error("no room"));
    await assert.rejects(cached(folder, failing), /no room/);
    assert.deepEqual(readdirSync(parent), [".partial-1-abcdef"]);
  });
});
