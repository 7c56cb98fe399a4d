import { strict as assert } from "node:assert";
import { checkInputs } from "@egress-proxies/providers/health/check";
import { diffInputs } from "@egress-proxies/providers/health/diff";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import { UNKNOWN } from "@egress-proxies/providers/pulumi/backend";
import { inputs, state } from "./fixtures";

/** What a program may really send, types or not. */
const raw = (changes: Record<string, unknown>) => ({ ...inputs(), ...changes }) as ProxyCheckInputs;
const failing = (changes: Record<string, unknown>) =>
  checkInputs(raw(changes)).map(({ property }) => property);

describe("proxyCheck check", () => {
  it("takes good inputs, also without an address yet", () => {
    assert.deepEqual(checkInputs(inputs()), []);
    assert.deepEqual(checkInputs(inputs({ host: "", generation: "", allowedClients: [] })), []);
    assert.deepEqual(checkInputs(inputs({ host: "2001:db8::5", intervalSeconds: 0.5 })), []);
  });

  it("tolerates what a preview does not know yet, at any depth", () => {
    const unknown = Object.fromEntries(Object.keys(inputs()).map((key) => [key, UNKNOWN]));
    assert.deepEqual(failing(unknown), []);
    assert.deepEqual(
      failing({ target: { url: UNKNOWN, expectedStatus: UNKNOWN }, allowedClients: [UNKNOWN] }),
      [],
    );
  });

  const bad: [string, Record<string, unknown>][] = [
    ["name", { name: "" }],
    ["host", { host: "http://192.0.2.5" }],
    ["host", { host: "a b" }],
    ["port", { port: 0 }],
    ["port", { port: 65536 }],
    ["port", { port: "3128" }],
    ["target", { target: undefined }],
    ["target.url", { target: { url: "ftp://target.example", expectedStatus: 204 } }],
    ["target.url", { target: { url: "https://user:pw@target.example", expectedStatus: 204 } }],
    ["target.expectedStatus", { target: { url: "https://target.example", expectedStatus: 100 } }],
    ["allowedClients", { allowedClients: "192.0.2.0/24" }],
    ["allowedClients[1]", { allowedClients: ["192.0.2.0/24", "192.0.2.1"] }],
    ["wait", { wait: "forever" }],
    ["waitTimeoutSeconds", { waitTimeoutSeconds: -1 }],
    ["intervalSeconds", { intervalSeconds: 0 }],
    ["timeoutSeconds", { timeoutSeconds: Number.NaN }],
    ["failureThreshold", { failureThreshold: 1.5 }],
    ["recoveryThreshold", { recoveryThreshold: 0 }],
  ];
  for (const [property, changes] of bad) {
    it(`names ${property} for ${JSON.stringify(changes)}`, () =>
      assert.deepEqual(failing(changes), [property]));
  }

  it("reports everything at once", () => {
    assert.deepEqual(failing({ port: 0, wait: "x", allowedClients: ["y"] }), [
      "port",
      "wait",
      "allowedClients[0]",
    ]);
  });
});

describe("proxyCheck diff", () => {
  it("sees no change in what it wrote itself, nor in the order of allowedClients", () => {
    const allowedClients = ["192.0.2.0/24", "198.51.100.0/24"];
    const news = inputs({ allowedClients: allowedClients.toReversed() });
    assert.deepEqual(diffInputs(state({ allowedClients, ready: false, reason: "Blocked" }), news), {
      changes: false,
      replaces: [],
    });
  });

  const changes: Partial<ProxyCheckInputs>[] = [
    { name: "web-2" },
    { host: "192.0.2.6" },
    { port: 8080 },
    { generation: "g2" },
    { target: { url: "https://target.example/204", expectedStatus: 200 } },
    { allowedClients: [] },
    { wait: "none" },
    { waitTimeoutSeconds: 61 },
    { intervalSeconds: 6 },
    { timeoutSeconds: 11 },
    { failureThreshold: 4 },
    { recoveryThreshold: 1 },
    { generation: UNKNOWN },
  ];
  for (const change of changes) {
    it(`sees ${JSON.stringify(change)}, and replaces nothing`, () => {
      assert.deepEqual(diffInputs(state(), inputs(change)), { changes: true, replaces: [] });
    });
  }
});
