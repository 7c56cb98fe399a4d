import assert from "node:assert/strict";
import { environment } from "../../../tools/language-host/policy-pack";
import {
  configKey,
  type ProgramStart,
  programArguments,
  programEnvironment,
} from "../../../tools/language-host/program";

const start: ProgramStart = {
  pwd: "/program",
  entry: ".",
  args: ["extra"],
  rootDirectory: "/program",
  organization: "organization",
  project: "egress-proxies",
  stack: "dev",
  dryRun: false,
  parallel: 8,
  monitorAddress: "127.0.0.1:1",
  config: [["egress:pools", "{}"]],
  secretKeys: ["egress:token"],
};

describe("tools: how the language host starts a program", () => {
  it("puts the program and its arguments after the runner's flags", () => {
    const args = programArguments(start, "/sdk/run", "127.0.0.1:2");
    assert.equal(args[0], "/sdk/run");
    assert.equal(args[args.indexOf("--engine") + 1], "127.0.0.1:2");
    assert.equal(args[args.indexOf("--monitor") + 1], "127.0.0.1:1");
    assert.deepEqual(args.slice(-2), [".", "extra"]);
    assert.ok(!args.includes("--dry-run"));
    assert.ok(programArguments({ ...start, dryRun: true }, "/sdk/run", "x").includes("--dry-run"));
  });

  it("hands the config over under the keys of the SDK", () => {
    const env = programEnvironment(start);
    assert.deepEqual(JSON.parse(env.PULUMI_CONFIG ?? ""), { "egress:config:pools": "{}" });
    assert.deepEqual(JSON.parse(env.PULUMI_CONFIG_SECRET_KEYS ?? ""), ["egress:config:token"]);
    assert.equal(configKey("a:b"), "a:config:b");
    assert.equal(configKey("a:config:b"), "a:config:b");
    assert.equal(configKey("a:b:c"), "a:config:b:c");
    assert.equal(configKey("a:config"), "a:config:config");
  });

  it("reads the environment that the engine sends for a policy pack", () => {
    assert.deepEqual(environment(["A=1", "B=x=y", "C="]), { A: "1", B: "x=y", C: "" });
  });
});
