import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Result, Stack } from "../stack";

/** Two dynamic resources; one waits in create for as long as the file `hold` exists. */
const PROGRAM = `
const fs = require("node:fs");
const pulumi = require("@pulumi/pulumi");
const provider = {
  async create(inputs) {
    fs.writeFileSync("creating-" + inputs.n, String(process.pid));
    while (fs.existsSync("hold")) await new Promise((resolve) => setTimeout(resolve, 50));
    return { id: "thing-" + inputs.n, outs: { n: inputs.n } };
  },
  async diff(_id, olds, news) { return { changes: olds.n !== news.n }; },
  async read(id, props) { return { id, props }; },
};
class Thing extends pulumi.dynamic.Resource {
  constructor(n) { super(provider, "thing-" + n, { n }); }
}
new Thing(1);
new Thing(2);
exports.greeting = new pulumi.Config().require("greeting");
`;

describe("tools: the language host under the real CLI", function () {
  this.timeout(120_000);
  let stack: Stack;

  beforeEach(async () => {
    stack = new Stack("dev", "tiny", "index.js");
    stack.write("index.js", PROGRAM);
    await stack.init();
    succeeded(await stack.pulumi("config", "set", "greeting", "hello"));
  });

  afterEach(() => {
    // The engine's own end is what ends a dynamic provider: after a kill it has to be done here.
    for (const pid of processesOf(stack.directory, "cmd/dynamic-provider")) process.kill(pid, "SIGKILL");
    stack.dispose();
  });

  it("says that the config is too large, not that something is unknown", async () => {
    stack.write(
      "Pulumi.dev.yaml",
      `${readFileSync(path.join(stack.directory, "Pulumi.dev.yaml"), "utf8").trimEnd()}\n  tiny:long: ${"x".repeat(140_000)}\n`,
    );
    const { code, text } = await stack.up();
    assert.notEqual(code, 0, text);
    assert.match(text, /config has 137 KiB.*at most 128 KiB.*cloudInit\.file/);
  });

  it("runs up, an up without changes, refresh and destroy", async () => {
    assert.match(succeeded(await stack.pulumi("up", "--yes")), /3 created/);
    assert.match(succeeded(await stack.pulumi("up", "--yes", "--expect-no-changes")), /3 unchanged/);
    assert.match(succeeded(await stack.pulumi("refresh", "--yes")), /3 unchanged/);
    assert.equal(succeeded(await stack.pulumi("stack", "output", "greeting")).trim(), "hello");
    assert.match(succeeded(await stack.pulumi("destroy", "--yes")), /3 deleted/);
  });

  it("shows a program's own error and makes nothing", async () => {
    const error = 'throw new (require("@pulumi/pulumi").RunError)("the program is wrong");';
    stack.write("index.js", error);
    const answer = await stack.pulumi("up", "--yes");
    assert.notEqual(answer.code, 0);
    assert.match(answer.text, /the program is wrong/);
  });

  it("ends by itself when the CLI is killed, and the next up works", async () => {
    stack.write("hold", "");
    const cli = stack.start("up", "--yes", "--skip-preview");
    await until("the first create", 60_000, () => existsSync(path.join(stack.directory, "creating-1")));
    assert.equal(processesOf(stack.directory, "language-host/main.js").length, 1);

    cli.child.kill("SIGKILL");
    await until("the end of language host and program", 10_000, () => {
      return processesOf(stack.directory, "language-host/main.js", "cmd/run").length === 0;
    });

    unlinkSync(path.join(stack.directory, "hold")); // lets the orphaned provider end
    succeeded(await stack.pulumi("cancel", "--yes"));
    assert.match(succeeded(await stack.pulumi("up", "--yes")), /created/);
  });
});

function succeeded(answer: Result): string {
  assert.equal(answer.code, 0, answer.text);
  return answer.text;
}

async function until(what: string, ms: number, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not within ${ms / 1000} s: ${what}`);
    await sleep(100);
  }
}

/** Processes that run in `folder` and whose command line holds one of the markers. */
function processesOf(folder: string, ...markers: string[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const environment = read(`/proc/${pid}/environ`);
      const commandLine = read(`/proc/${pid}/cmdline`);
      return environment.includes(folder) && markers.some((marker) => commandLine.includes(marker));
    })
    .map(Number);
}

/** A file of /proc; empty when the process has gone in between. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
