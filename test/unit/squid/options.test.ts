import assert from "node:assert/strict";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { type SquidOptions, squidOptionsProblems } from "@egress-proxies/providers/squid/options";
import { renderSquidConf } from "@egress-proxies/providers/squid/squid-conf";
import fc from "fast-check";

const BASE: SquidOptions = { port: 3128, visibleHostname: "proxy-1", allowedClients: ["10.0.0.0/8"] };

function paths(changes: Partial<SquidOptions>): string[] {
  return squidOptionsProblems({ ...BASE, ...changes }).map(({ path }) => path);
}

describe("squidOptionsProblems", () => {
  it("is content with good options", () => {
    assert.deepEqual(paths({}), []);
    assert.deepEqual(
      paths({
        visibleHostname: "dev_crawl-1.example.org",
        allowedClients: ["192.0.2.7", "2001:db8::/32"],
        allowedDestinations: [
          "10.0.0.5",
          "10.1.0.0/16:8080",
          "fd00::1",
          "[fd00::1]:8443",
          "[fd00:1::/64]:81",
        ],
        shutdownLifetimeSeconds: 0,
        connectTimeoutSeconds: 300,
      }),
      [],
    );
  });

  it("names every property that is wrong, at once", () => {
    const found = paths({
      port: 0,
      visibleHostname: "",
      allowedClients: ["10.0.0.0/8", "10.0.0.1/8"],
      allowedDestinations: ["nonsense"],
      shutdownLifetimeSeconds: -1,
      connectTimeoutSeconds: 0.5,
    });
    assert.deepEqual(found, [
      "port",
      "visibleHostname",
      "allowedClients[1]",
      "allowedDestinations[0]",
      "shutdownLifetimeSeconds",
      "connectTimeoutSeconds",
    ]);
  });

  it("refuses an open proxy", () => {
    assert.deepEqual(paths({ allowedClients: [] }), ["allowedClients"]);
    assert.deepEqual(paths({ allowedClients: ["0.0.0.0/0", "::/0"] }), [
      "allowedClients[0]",
      "allowedClients[1]",
    ]);
  });

  it("refuses ports at which the proxy could call itself", () => {
    for (const port of [80, 443]) assert.deepEqual(paths({ port }), ["port"]);
    assert.deepEqual(paths({ allowedDestinations: ["127.0.0.1:3128"] }), ["allowedDestinations[0]"]);
  });

  it("refuses ports that are none", () => {
    for (const port of [-1, 65536, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.deepEqual(paths({ port }), ["port"]);
    }
    for (const port of ["0", "65536", "", "08080", "80 90", "http", "-1"]) {
      assert.deepEqual(
        paths({ allowedDestinations: [`10.0.0.1:${port}`] }),
        ["allowedDestinations[0]"],
        port,
      );
    }
  });

  it("refuses to except everything", () => {
    assert.deepEqual(paths({ allowedDestinations: ["0.0.0.0/0", "[::/0]:80"] }).length, 2);
  });

  it("refuses exceptions where squid cannot tell 0.0.0.0 from ::", () => {
    for (const entry of ["0.0.0.0", "0.0.0.1:8080", "::1", "[::1]:8080", "::/64", "0.0.0.0/4"]) {
      assert.deepEqual(paths({ allowedDestinations: [entry] }), ["allowedDestinations[0]"], entry);
    }
  });

  it("says what to write instead", () => {
    const [problem] = squidOptionsProblems({ ...BASE, allowedClients: ["192.168.7.9/16"] });
    assert.match(problem!.remedy, /192\.168\.0\.0\/16/);
  });

  it("lets no string add a directive", () => {
    const hostile = fc.oneof(
      fc.string(),
      fc
        .tuple(
          fc.constantFrom("proxy-1", "10.0.0.1", "10.0.0.0/8", "10.0.0.1:8080", "[fd00::1]:8080"),
          fc.constantFrom("\n", "\r", "\r\n", " ", "\t", '"', "'", "#", "\\", "\0", "\u2028", "%", "$", "`"),
          fc.constantFrom("http_access allow all", "", "0.0.0.0/0", "\n"),
        )
        .chain(([value, separator, addition]) =>
          fc.constantFrom(value + separator + addition, addition + separator + value),
        ),
    );
    const directives = (text: string) => text.split("\n").map((line) => line.split(" ", 2).join(" "));
    const good = directives(renderSquidConf({ ...BASE, allowedDestinations: ["10.0.0.1:8080"] }));
    fc.assert(
      fc.property(hostile, fc.nat(2), (text, field) => {
        const options: SquidOptions = {
          ...BASE,
          ...(field === 0 && { visibleHostname: text }),
          ...(field === 1 && { allowedClients: [text] }),
          ...(field === 2 && { allowedDestinations: [text] }),
        };
        if (squidOptionsProblems(options).length > 0) {
          assert.throws(
            () => renderSquidConf(options),
            (error) => error instanceof PermanentError && error.reason === "SquidOptionsInvalid",
          );
          return;
        }
        const known = new Set(good);
        for (const line of directives(renderSquidConf(options))) {
          assert.ok(
            known.has(line) ||
              /^acl (exception|excepted|private)/.test(line) ||
              line.startsWith("visible_hostname "),
            line,
          );
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps a hostile value on one line of the message", () => {
    const [problem] = squidOptionsProblems({ ...BASE, visibleHostname: "a\nhttp_access allow all" });
    assert.doesNotMatch(problem!.problem, /\n/);
  });
});
