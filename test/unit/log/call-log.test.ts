import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallRecord } from "@egress-proxies/providers/libvirt/types";
import { callLine, callLog } from "@egress-proxies/providers/log/call-log";
import { loggedEngine } from "@egress-proxies/providers/log/engine-log";
import { openLog } from "@egress-proxies/providers/log/logger";
import { noEngine } from "@egress-proxies/providers/pulumi/engine";

const lookup: CallRecord = {
  rpc: "virDomainLookupByName",
  durationMs: 1.2345,
  identifiers: { name: "web" },
  result: { domain: "web" },
};
const defined: CallRecord = {
  rpc: "virDomainDefineXML",
  durationMs: 3,
  identifiers: {},
  result: { domain: "web" },
  xml: { sent: "<domain/>" },
};

describe("the log of calls", () => {
  const directory = mkdtempSync(join(tmpdir(), "egress-log-"));
  const file = join(directory, "calls.log");
  after(() => rmSync(directory, { recursive: true, force: true }));
  afterEach(() => rmSync(file, { force: true }));

  const lines = () =>
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const opened = (level?: string) => {
    const complaints: string[] = [];
    const log = openLog(
      { EGRESS_LOG: file, ...(level === undefined ? {} : { EGRESS_LOG_LEVEL: level }) },
      (message) => complaints.push(message),
    );
    return { log, complaints };
  };

  it("is not kept where nobody asked for it", () => {
    const refuse = () => assert.fail("nothing to complain of");
    assert.equal(openLog({}, refuse), undefined);
    assert.equal(openLog({ EGRESS_LOG: "" }, refuse), undefined);
    assert.equal(callLog(undefined), undefined);
    assert.equal(loggedEngine(noEngine, undefined), noEngine);
  });

  it("has one line per call, in JSON, with when, where, what about and how long", () => {
    callLog(opened().log)?.("kvm1", lookup);
    const [line, ...more] = lines();
    assert.deepEqual(more, []);
    const { time, pid, ...rest } = line ?? {};
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
    assert.equal(pid, process.pid);
    assert.deepEqual(rest, {
      level: "debug",
      rpc: "virDomainLookupByName",
      host: "kvm1",
      name: "web",
      durationMs: 1.2,
      result: { domain: "web" },
    });
  });

  it("names libvirt's error as libvirt does, and says nothing of a code where there is none", () => {
    const { result: _, ...failed } = lookup;
    const refused = callLine("kvm1", { ...failed, error: { code: 42, message: "no domain" } });
    assert.deepEqual(
      [refused.error, refused.libvirtError, refused.libvirtCode, "result" in refused],
      ["no domain", "VIR_ERR_NO_DOMAIN", 42, false],
    );
    const unnamed = callLine("kvm1", { ...failed, error: { code: 999, message: "new" } });
    assert.equal(unnamed.libvirtCode, 999);
    const cut = callLine("kvm1", { ...failed, error: { message: "closed" } });
    assert.deepEqual([cut.error, "libvirtCode" in cut, "libvirtError" in cut], ["closed", false, false]);
  });

  it("shows XML at trace only", () => {
    callLog(opened("debug").log)?.("kvm1", defined);
    callLog(opened("trace").log)?.("kvm1", defined);
    assert.deepEqual(
      lines().map(({ level, sent }) => [level, sent]),
      [
        ["debug", undefined],
        ["trace", "<domain/>"],
      ],
    );
  });

  it("leaves calls out above debug, and keeps what people are shown", () => {
    const { log } = opened("info");
    callLog(log)?.("kvm1", lookup);
    const shown: string[] = [];
    const engine = loggedEngine({ ...noEngine, log: (_, message) => shown.push(message) }, log);
    engine.log("warning", "gone", false);
    engine.log("info", "booting", true);
    assert.deepEqual(
      lines().map(({ level, msg }) => [level, msg]),
      [
        ["warn", "gone"],
        ["info", "booting"],
      ],
    );
    assert.deepEqual(shown, ["gone", "booting"]);
  });

  it("is appended to, and only its owner may read it", () => {
    callLog(opened().log)?.("kvm1", lookup);
    callLog(opened().log)?.("kvm2", lookup);
    assert.deepEqual(
      lines().map(({ host }) => host),
      ["kvm1", "kvm2"],
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("falls back from a level that there is not, and says so", () => {
    const { log, complaints } = opened("loud");
    callLog(log)?.("kvm1", lookup);
    assert.equal(lines().length, 1);
    assert.match(complaints.join(), /EGRESS_LOG_LEVEL is "loud".*trace, debug/);
  });

  it("that cannot be written is complained of once, and the run goes on", () => {
    const complaints: string[] = [];
    const log = openLog({ EGRESS_LOG: directory }, (message) => complaints.push(message));
    callLog(log)?.("kvm1", lookup);
    const full = openLog({ EGRESS_LOG: "/dev/full" }, (message) => complaints.push(message));
    for (let i = 0; i < 3; i++) callLog(full)?.("kvm1", lookup);
    assert.equal(complaints.length, 2, complaints.join("\n"));
    assert.match(complaints[0] ?? "", /cannot be written.*EISDIR/);
    assert.match(complaints[1] ?? "", /\/dev\/full cannot be written.*ENOSPC/);
  });
});
