import assert from "node:assert/strict";
import { packText, unpackText } from "@egress-proxies/providers/machine/packed-text";
import { machineSpec } from "@egress-proxies/providers/machine/spec-hash";
import fc from "fast-check";

describe("packed text", () => {
  it("comes back as it was, one that looks packed included", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme", size: "large" }), fc.string().map(packText));
    fc.assert(fc.property(text, (given) => assert.equal(unpackText(packText(given)), given)));
  });

  it("is what it was where it was never packed", () => {
    assert.equal(unpackText("#cloud-config\n"), "#cloud-config\n");
    assert.equal(unpackText(""), "");
  });

  it("makes no other machine than the text itself", () => {
    const inputs = {
      owner: { project: "p", stack: "s", name: "n" },
      entry: "e",
      image: { key: "k", url: "u", sha256: "s" },
      vcpus: 1,
      memoryMiB: 64,
      diskGiB: 1,
      firmware: "bios" as const,
      userData: "#cloud-config\n",
      installGuestAgent: true,
      wait: "started" as const,
      bootTimeoutSeconds: 1,
    };
    const packed = { ...inputs, userData: packText(inputs.userData) };
    assert.deepEqual(machineSpec(packed), machineSpec(inputs));
  });
});
