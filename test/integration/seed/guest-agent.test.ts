import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GUEST_AGENT_SCRIPT } from "@egress-proxies/providers/seed/guest-agent";

/** Fake commands log how they are called; what a body does decides the rest. */
type Commands = Record<string, string>;

const INSTALLS = 'case "$*" in *install*|*add*) : >"$BIN/qemu-ga"; chmod +x "$BIN/qemu-ga";; esac';
const SYSTEMD: Commands = { systemctl: 'case "$1" in is-*) exit 1;; esac' };
const OPENRC: Commands = { "rc-update": "", "rc-service": "" };

describe("the guest agent's script in a guest", () => {
  let folder: string;
  let bin: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "egress-agent-"));
    bin = join(folder, "bin");
    mkdirSync(bin);
    // Nothing of this machine but what the fakes themselves need.
    for (const tool of ["chmod", "rm"])
      symlinkSync(execFileSync("which", [tool], { encoding: "utf8" }).trim(), join(bin, tool));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function give(commands: Commands): void {
    for (const [name, body] of Object.entries({ sleep: "", ...commands })) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>"$LOG"\n${body}\n`, { mode: 0o755 });
    }
  }

  /** Runs the script and tells what was called, in order. */
  function run(): { calls: string[]; stderr: string } {
    const log = join(folder, "log");
    const script = join(folder, "script");
    writeFileSync(log, "");
    writeFileSync(script, GUEST_AGENT_SCRIPT);
    const { status, stderr } = spawnSync("/bin/sh", [script], {
      env: { PATH: bin, BIN: bin, LOG: log },
      encoding: "utf8",
    });
    assert.equal(status, 0, `the boot never fails: ${stderr}`);
    return { calls: readFileSync(log, "utf8").split("\n").filter(Boolean), stderr };
  }

  it("is one that sh takes", () => {
    execFileSync("/bin/sh", ["-n"], { input: GUEST_AGENT_SCRIPT });
  });

  const managers: [name: string, services: Commands, install: RegExp, start: RegExp][] = [
    [
      "apt-get",
      SYSTEMD,
      /^apt-get .*install .*qemu-guest-agent$/,
      /^systemctl enable --now qemu-guest-agent/,
    ],
    ["dnf", SYSTEMD, /^dnf -y install qemu-guest-agent$/, /^systemctl enable --now qemu-guest-agent/],
    ["yum", SYSTEMD, /^yum -y install qemu-guest-agent$/, /^systemctl enable --now qemu-guest-agent/],
    ["zypper", SYSTEMD, /^zypper .*install qemu-guest-agent$/, /^systemctl enable --now qemu-guest-agent/],
    ["apk", OPENRC, /^apk add .*qemu-guest-agent$/, /^rc-service qemu-guest-agent start$/],
  ];
  for (const [manager, services, install, start] of managers) {
    it(`installs with ${manager}, starts it for good, and does nothing more the next time`, () => {
      give({ ...services, [manager]: INSTALLS });
      const first = run();
      assert.match(first.calls[0] ?? "", install);
      assert.ok(
        first.calls.some((call) => start.test(call)),
        first.calls.join("\n"),
      );
      const again = run();
      assert.ok(!again.calls.some((call) => call.startsWith(manager)), again.calls.join("\n"));
    });
  }

  it("starts with OpenRC at every boot", () => {
    give({ ...OPENRC, "qemu-ga": "" });
    assert.deepEqual(run().calls, [
      "rc-update add qemu-guest-agent default",
      "rc-service qemu-guest-agent start",
    ]);
  });

  it("leaves a running agent alone", () => {
    give({ systemctl: "", "apt-get": INSTALLS, "qemu-ga": "" });
    const { calls } = run();
    assert.ok(
      calls.every((call) => /^systemctl is-/.test(call)),
      calls.join("\n"),
    );
  });

  it("refreshes apt's lists where the package is not found in them", () => {
    give({
      ...SYSTEMD,
      "apt-get": `case "$*" in *update*) : >"$BIN/updated";; *) [ -e "$BIN/updated" ] || exit 100; ${INSTALLS};; esac`,
    });
    const { calls } = run();
    assert.deepEqual(
      calls.slice(0, 3).map((call) => (call.includes(" update") ? "update" : "install")),
      ["install", "update", "install"],
    );
    assert.ok(existsSync(join(bin, "qemu-ga")));
  });

  it("waits for apt's locks, which are gone at the third try", () => {
    give({
      ...SYSTEMD,
      sleep: 'echo x >>"$BIN/slept"',
      "apt-get": `if [ -e "$BIN/slept" ] && [ "$(while read -r l; do printf x; done <"$BIN/slept")" = xx ]; then ${INSTALLS}; else exit 100; fi`,
    });
    const { calls } = run();
    assert.deepEqual(
      calls.filter((call) => call.startsWith("sleep")),
      ["sleep 10", "sleep 10"],
    );
    assert.ok(existsSync(join(bin, "qemu-ga")));
  });

  it("gives up after a bounded time, says so, and lets the machine boot", () => {
    give({ ...SYSTEMD, "apt-get": "exit 100" });
    const { calls, stderr } = run();
    assert.equal(calls.filter((call) => call.startsWith("sleep")).length, 11);
    assert.match(stderr, /could not be installed/);
    assert.ok(!calls.some((call) => call.startsWith("systemctl")));
  });

  it("says at once that it knows no package manager", () => {
    give(SYSTEMD);
    const { calls, stderr } = run();
    assert.deepEqual(calls, []);
    assert.match(stderr, /no known package manager/);
  });

  it("does not fail where the agent cannot be started", () => {
    give({ systemctl: "exit 1", "qemu-ga": "" });
    assert.match(run().stderr, /could not be started/);
  });
});
