import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { GUEST_AGENT_SCRIPT } from "@egress-proxies/providers/seed/guest-agent";
import { type FakeCommands, FakeGuest, installs, OPENRC, SYSTEMD } from "./fake-guest";

const INSTALLS = installs("qemu-ga");

describe("the guest agent's script in a guest", () => {
  let guest: FakeGuest;

  beforeEach(() => {
    guest = new FakeGuest();
  });
  afterEach(() => guest.remove());

  function run(): { calls: string[]; stderr: string } {
    const { status, calls, stderr } = guest.run(GUEST_AGENT_SCRIPT);
    assert.equal(status, 0, `the boot never fails: ${stderr}`);
    return { calls, stderr };
  }

  it("is one that sh takes", () => {
    execFileSync("/bin/sh", ["-n"], { input: GUEST_AGENT_SCRIPT });
  });

  const managers: [name: string, services: FakeCommands, install: RegExp, start: RegExp][] = [
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
      guest.give({ ...services, [manager]: INSTALLS });
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
    guest.give({ ...OPENRC, "qemu-ga": "" });
    assert.deepEqual(run().calls, [
      "rc-update add qemu-guest-agent default",
      "rc-service qemu-guest-agent start",
    ]);
  });

  it("leaves a running agent alone", () => {
    guest.give({ systemctl: "", "apt-get": INSTALLS, "qemu-ga": "" });
    const { calls } = run();
    assert.ok(
      calls.every((call) => /^systemctl is-/.test(call)),
      calls.join("\n"),
    );
  });

  it("refreshes apt's lists where the package is not found in them", () => {
    guest.give({
      ...SYSTEMD,
      "apt-get": `case "$*" in *update*) : >"$BIN/updated";; *) [ -e "$BIN/updated" ] || exit 100; ${INSTALLS};; esac`,
    });
    const { calls } = run();
    assert.deepEqual(
      calls.slice(0, 3).map((call) => (call.includes(" update") ? "update" : "install")),
      ["install", "update", "install"],
    );
    assert.ok(guest.has("qemu-ga"));
  });

  it("waits for apt's locks, which are gone at the third try", () => {
    guest.give({
      ...SYSTEMD,
      sleep: 'echo x >>"$BIN/slept"',
      "apt-get": `if [ -e "$BIN/slept" ] && [ "$(while read -r l; do printf x; done <"$BIN/slept")" = xx ]; then ${INSTALLS}; else exit 100; fi`,
    });
    const { calls } = run();
    assert.deepEqual(
      calls.filter((call) => call.startsWith("sleep")),
      ["sleep 10", "sleep 10"],
    );
    assert.ok(guest.has("qemu-ga"));
  });

  it("gives up after a bounded time, says so, and lets the machine boot", () => {
    guest.give({ ...SYSTEMD, "apt-get": "exit 100" });
    const { calls, stderr } = run();
    assert.equal(calls.filter((call) => call.startsWith("sleep")).length, 11);
    assert.match(stderr, /could not be installed/);
    assert.ok(!calls.some((call) => call.startsWith("systemctl")));
  });

  it("says at once that it knows no package manager", () => {
    guest.give(SYSTEMD);
    const { calls, stderr } = run();
    assert.deepEqual(calls, []);
    assert.match(stderr, /no known package manager/);
  });

  it("does not fail where the agent cannot be started", () => {
    guest.give({ systemctl: "exit 1", "qemu-ga": "" });
    assert.match(run().stderr, /could not be started/);
  });
});
