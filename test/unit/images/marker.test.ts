import assert from "node:assert/strict";
import {
  MAX_MARKER_BYTES,
  type Marker,
  parseMarker,
  refuseConflict,
  renderMarker,
} from "@egress-proxies/providers/images/marker";
import type { PermanentError } from "@egress-proxies/providers/machine/errors";
import fc from "fast-check";

const marker: Marker = {
  version: 1,
  key: "debian-12",
  entry: "eu",
  volume: "base-eu-debian-12.0123456789ab-1-2-89abcdef.qcow2",
  path: "/var/lib/libvirt/images/base-eu-debian-12.0123456789ab-1-2-89abcdef.qcow2",
  sha256: "a".repeat(64),
  size: 1000,
  format: "qcow2",
  virtualSize: 5000,
  source: { url: "https://example.org/debian.qcow2.xz", sha256: "b".repeat(64), sha512: "c".repeat(128) },
  publisher: "0123456789ab-1-2",
  published: "2026-01-02T03:04:05.000Z",
};
const naming = { key: "debian-12", entry: "eu" };
const wanted = {
  url: marker.source.url,
  digest: { algorithm: "sha256", hex: marker.source.sha256 },
} as const;

describe("marker", () => {
  it("reads back what it writes, whole blocks", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), fc.nat(), (url, size) => {
        const one = { ...marker, size: size + 1, source: { ...marker.source, url } };
        const bytes = renderMarker(one);
        assert.equal(bytes.length % 4096, 0);
        assert.ok(bytes.length <= MAX_MARKER_BYTES);
        assert.deepEqual(parseMarker(bytes), one);
      }),
    );
  });

  it("is valid whole, and at no point before its text is", () => {
    const text = renderMarker(marker).toString().trimEnd();
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), (cut) => {
        assert.equal(parseMarker(Buffer.from(text.slice(0, cut))), undefined);
      }),
    );
  });

  it("is no marker if it is anything else", () => {
    const others = ["", "null", "[]", "{}", JSON.stringify({ ...marker, version: 2 }), "\0".repeat(4096)];
    for (const text of others) assert.equal(parseMarker(Buffer.from(text)), undefined, text);
  });
});

describe("refuseConflict", () => {
  const reasonOf = (change: object, name: object = naming) => {
    try {
      refuseConflict(marker, { ...naming, ...name }, { ...wanted, ...change }, "host h");
      return undefined;
    } catch (error) {
      return (error as PermanentError).reason;
    }
  };

  it("accepts the same source by either digest", () => {
    assert.equal(reasonOf({}), undefined);
    assert.equal(reasonOf({ digest: { algorithm: "sha512", hex: marker.source.sha512 } }), undefined);
  });

  it("refuses another url, another digest, and another entry or key", () => {
    assert.equal(reasonOf({ url: `${wanted.url}?` }), "ImageKeyConflict");
    assert.equal(reasonOf({ digest: { algorithm: "sha256", hex: "d".repeat(64) } }), "ImageKeyConflict");
    assert.equal(reasonOf({ digest: { algorithm: "sha512", hex: "d".repeat(128) } }), "ImageKeyConflict");
    assert.equal(reasonOf({}, { entry: "us" }), "BaseNameConflict");
    assert.equal(reasonOf({}, { key: "debian-13" }), "BaseNameConflict");
    assert.equal(reasonOf({}, { entry: undefined }), "BaseNameConflict");
  });
});
