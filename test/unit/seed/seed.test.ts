import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { renderSeed, type SeedInput } from "@egress-proxies/providers/seed/seed";
import fc from "fast-check";
import { readIso } from "./iso-reader";

const BASE: SeedInput = {
  instanceId: "i-0123",
  localHostname: "dev-crawl-1",
  userData: "#cloud-config\n{}\n",
  installGuestAgent: false,
};

function read(input: Partial<SeedInput>): Map<string, Buffer> {
  return readIso(renderSeed({ ...BASE, ...input }), "rock-ridge").files;
}

describe("renderSeed", () => {
  it("is a volume cidata under both kinds of names", () => {
    const image = renderSeed({ ...BASE, vendorData: "v", networkConfig: "version: 2\n" });
    for (const names of ["rock-ridge", "joliet"] as const) {
      const { label, files } = readIso(image, names);
      assert.equal(label, "cidata");
      assert.deepEqual([...files.keys()].sort(), ["meta-data", "network-config", "user-data", "vendor-data"]);
    }
  });

  it("leaves out what was not given", () => {
    assert.deepEqual([...read({}).keys()].sort(), ["meta-data", "user-data"]);
  });

  it("carries user-data byte for byte in every format", () => {
    const formats: Record<string, string | Uint8Array> = {
      empty: "",
      script: "#!/bin/sh\necho hi\n",
      jinja: "## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n",
      gzip: gzipSync("#cloud-config\n{}\n"),
      mime: 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="x"\r\n\r\n--x--\r\n',
      "without a final line break": "#cloud-config",
      "a whole sector": "x".repeat(2048),
      "one byte more than a sector": "x".repeat(2049),
    };
    for (const [format, userData] of Object.entries(formats)) {
      assert.deepEqual(read({ userData }).get("user-data"), Buffer.from(userData as string), format);
    }
  });

  it("gives back any bytes, whatever their length", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 5000 }),
        fc.option(fc.uint8Array({ maxLength: 5000 }), { nil: undefined }),
        fc.option(fc.string({ maxLength: 3000 }), { nil: undefined }),
        (userData, vendorData, networkConfig) => {
          const image = renderSeed({
            ...BASE,
            userData,
            ...(vendorData && { vendorData }),
            ...(networkConfig !== undefined && { networkConfig }),
          });
          for (const names of ["rock-ridge", "joliet"] as const) {
            const { files } = readIso(image, names);
            assert.deepEqual(files.get("user-data"), Buffer.from(userData));
            assert.deepEqual(files.get("vendor-data"), vendorData && Buffer.from(vendorData));
            assert.deepEqual(files.get("network-config")?.toString(), networkConfig);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("is the same bytes for the same input", () => {
    const input = { ...BASE, vendorData: "#!/bin/sh\n", installGuestAgent: true };
    assert.deepEqual(renderSeed(input), renderSeed({ ...input }));
  });

  it("differs where the instance-id differs", () => {
    assert.notDeepEqual(renderSeed(BASE), renderSeed({ ...BASE, instanceId: "i-0124" }));
  });

  it("writes meta-data that no name can break out of", () => {
    const hostile = 'a"\n: {} # \u2028\u0085\u007f\ufeff é 😀';
    const text = read({ instanceId: hostile, localHostname: "h" }).get("meta-data")!.toString();
    assert.deepEqual(JSON.parse(text), { "instance-id": hostile, "local-hostname": "h" });
    assert.equal(text.split(/[\r\n\u0085\u2028\u2029]/).length, 2, "one line and its end");
    assert.doesNotMatch(text, /[\u007f-\u009f\ufeff]/, "YAML refuses these when they are not escaped");
  });

  it("installs the guest agent by a script where the user has no vendor-data", () => {
    for (const vendorData of [undefined, ""]) {
      const script = read({ installGuestAgent: true, ...(vendorData !== undefined && { vendorData }) })
        .get("vendor-data")!
        .toString();
      assert.match(script, /^#!\/bin\/sh\n/);
      assert.match(script, /qemu-guest-agent/);
    }
  });

  it("leaves the user's vendor-data alone where no agent is wanted", () => {
    assert.equal(read({ vendorData: "#cloud-config\n" }).get("vendor-data")!.toString(), "#cloud-config\n");
  });
});
