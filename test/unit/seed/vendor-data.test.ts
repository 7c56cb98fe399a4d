import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { joinVendorData } from "@egress-proxies/providers/seed/vendor-data";

const SCRIPT = "#!/bin/sh\nexit 0\n";

function joined(own: string | Uint8Array): string {
  return joinVendorData(Buffer.from(own as string), SCRIPT).toString("latin1");
}

describe("joinVendorData", () => {
  it("begins with MIME-Version, which cloud-init looks for first", () => {
    assert.match(joined("#cloud-config\n"), /^MIME-Version: 1\.0\nContent-Type: multipart\/mixed; /);
  });

  it("leaves plain text readable, as text/plain", () => {
    const text = joined("#cloud-config\nruncmd: []\n");
    assert.match(text, /Content-Type: text\/plain[\s\S]*7bit\n\n#cloud-config\nruncmd: \[\]\n\n--/);
  });

  it("wraps in base64 what mail software might change", () => {
    const fragile = ["#cloud-config\n# \u00fc\n", "#!/bin/sh\r\n", `#${"x".repeat(999)}\n`, "#\u0000"];
    for (const own of fragile) {
      const part = joined(own).split(/^--=-.*$/m)[1]!;
      assert.match(part, /Content-Transfer-Encoding: base64\n/);
      const body = part.slice(part.indexOf("\n\n") + 2);
      assert.deepEqual(Buffer.from(body, "base64"), Buffer.from(own), JSON.stringify(own.slice(0, 20)));
    }
  });

  it("unpacks gzip, which cloud-init would not do within a part", () => {
    assert.equal(joined(gzipSync("#cloud-config\n")), joined("#cloud-config\n"));
  });

  it("says so where gzip cannot be unpacked", () => {
    const cut = gzipSync("#cloud-config\n").subarray(0, 15);
    assert.throws(
      () => joined(cut),
      (error) => error instanceof PermanentError && error.reason === "VendorDataCorrupt",
    );
  });

  it("puts a MIME message in whole, as a nested one", () => {
    const own =
      'Content-Type: multipart/mixed; boundary="own"\nMIME-Version: 1.0\n\n--own\n\n#cloud-config\n--own--\n';
    assert.ok(joined(own).includes(`\n${own}\n--=-`));
  });

  it("does not take a text that mentions MIME for a message", () => {
    assert.match(joined("#cloud-config\n# MIME-Version: 1.0\n"), /Content-Type: text\/plain/);
  });

  it("is the same for the same input", () => {
    assert.equal(joined("#cloud-config\n"), joined("#cloud-config\n"));
  });
});
