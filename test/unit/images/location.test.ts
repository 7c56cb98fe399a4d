import assert from "node:assert/strict";
import { fileNameOf, parseLocation, withoutCredentials } from "@egress-proxies/providers/images/location";

describe("image location", () => {
  it("takes paths from the root it is given", () => {
    assert.deepEqual(parseLocation("images/a.qcow2", "/project"), {
      kind: "file",
      path: "/project/images/a.qcow2",
    });
    assert.deepEqual(parseLocation("/srv/a.qcow2", "/project"), { kind: "file", path: "/srv/a.qcow2" });
    assert.deepEqual(parseLocation("file:///srv/a%20b.raw", "/project"), {
      kind: "file",
      path: "/srv/a b.raw",
    });
  });

  it("refuses what it cannot fetch, without showing a password", () => {
    for (const url of ["ftp://joe:secret@example.org/a.raw", "file://elsewhere/a.raw", "http://"]) {
      assert.throws(
        () => parseLocation(url, "/"),
        (error: Error & { reason: string }) =>
          error.reason === "InvalidImageUrl" && !error.message.includes("secret"),
        url,
      );
    }
  });

  it("names the file as a checksum file lists it", () => {
    const name = (text: string) => fileNameOf(parseLocation(text, "/"));
    assert.equal(name("https://example.org/images/a%2Bb.qcow2?version=3#x"), "a+b.qcow2");
    assert.equal(name("https://example.org/100%/a%.raw"), "a%.raw");
    assert.equal(name("images/c.raw.xz"), "c.raw.xz");
  });

  it("hides user name and password, and nothing else", () => {
    assert.equal(withoutCredentials("https://joe:s@cret@example.org/a?b=@c"), "https://example.org/a?b=@c");
    assert.equal(withoutCredentials("https://example.org/user@home"), "https://example.org/user@home");
    assert.equal(withoutCredentials("./a@b.raw"), "./a@b.raw");
  });
});
