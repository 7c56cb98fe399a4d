import { strict as assert } from "node:assert";
import { assertExpected, assertPassedOn } from "@egress-proxies/providers/health/answer";
import type { StageFailure } from "@egress-proxies/providers/health/report";

type Case = [status: number, squid: string | undefined, connect: string, get: string];

function reasonOf(work: () => void): string {
  try {
    work();
    return "passed on";
  } catch (error) {
    return (error as StageFailure).reason;
  }
}

function detailOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return (error as StageFailure).detail;
  }
}

const answer = (status: number, squid?: string) => ({
  status,
  headers: squid === undefined ? {} : { "x-squid-error": squid },
});
const origin = { address: "198.51.100.7", allowedClients: ["192.0.2.0/24"] };

describe("an answer to the request through the proxy", () => {
  const table: Case[] = [
    [200, undefined, "passed on", "passed on"],
    [204, undefined, "passed on", "passed on"],
    [403, "ERR_ACCESS_DENIED 0", "AccessDenied", "AccessDenied"],
    [403, undefined, "AccessDenied", "passed on"],
    [407, "ERR_CACHE_ACCESS_DENIED 0", "AccessDenied", "AccessDenied"],
    [407, undefined, "AccessDenied", "AccessDenied"],
    [503, "ERR_CONNECT_FAIL 111", "TargetUnreachable", "TargetUnreachable"],
    [503, "ERR_DNS_FAIL 0", "TargetUnreachable", "TargetUnreachable"],
    [504, undefined, "TargetUnreachable", "passed on"],
    [503, undefined, "UnexpectedStatus", "passed on"],
    [500, "ERR_CANNOT_FORWARD 0", "UnexpectedStatus", "passed on"],
    [302, undefined, "UnexpectedStatus", "passed on"],
  ];
  for (const [status, squid, connect, get] of table) {
    it(`${status} ${squid ?? ""} is ${connect} for CONNECT and ${get} for GET`, () => {
      assert.equal(
        reasonOf(() => assertPassedOn(answer(status, squid), "CONNECT", origin)),
        connect,
      );
      assert.equal(
        reasonOf(() => assertPassedOn(answer(status, squid), "GET", origin)),
        get,
      );
    });
  }

  it("names our address, and says whether it should have been allowed", () => {
    const refused = answer(403, "ERR_ACCESS_DENIED 0");
    const said = (allowedClients: string[]) =>
      detailOf(() => assertPassedOn(refused, "CONNECT", { ...origin, allowedClients }));
    assert.match(said(["192.0.2.0/24"]), /our address 198\.51\.100\.7 is not in allowedClients/);
    assert.match(said(["198.51.100.0/24"]), /198\.51\.100\.7 .*though it is in allowedClients/);
    assert.match(said([]), /refuses our address 198\.51\.100\.7/);
  });

  it("takes no more than a code from X-Squid-Error", () => {
    const said = detailOf(() =>
      assertPassedOn(answer(403, `ERR_ACCESS_DENIED ${"x".repeat(9000)}`), "CONNECT", origin),
    );
    assert.ok(said.length < 200, said);
  });
});

describe("the target's answer", () => {
  const target = { url: "http://target.example/", expectedStatus: 204 };
  for (const [status, reason] of [
    [204, "passed on"],
    [401, "Blocked"],
    [403, "Blocked"],
    [429, "Blocked"],
    [200, "UnexpectedStatus"],
    [500, "UnexpectedStatus"],
  ] as const) {
    it(`${status} is ${reason}`, () => {
      assert.equal(
        reasonOf(() => assertExpected(answer(status), target)),
        reason,
      );
    });
  }

  it("passes a 403 that is expected, and names both statuses otherwise", () => {
    assert.equal(
      reasonOf(() => assertExpected(answer(403), { ...target, expectedStatus: 403 })),
      "passed on",
    );
    assert.match(
      detailOf(() => assertExpected(answer(500), target)),
      /answers 500 instead of 204/,
    );
  });
});
