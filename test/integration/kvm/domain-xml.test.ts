import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderDomain } from "@egress-proxies/providers/kvm/domain-xml";
import { renderOverlay, renderUploadTarget } from "@egress-proxies/providers/kvm/volume-xml";

/** libvirt's own schemas, through its own validator. */
describe("rendered XML under virt-xml-validate", () => {
  const directory = mkdtempSync(join(tmpdir(), "egress-xml-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  const validate = (schema: "domain" | "storagevol", xml: string) => {
    const file = join(directory, "document.xml");
    writeFileSync(file, xml);
    execFileSync("virt-xml-validate", [file, schema], { stdio: "pipe" });
  };

  for (const firmware of ["uefi", "bios"] as const) {
    for (const virtType of ["kvm", "qemu"] as const) {
      it(`takes a domain with ${firmware} under ${virtType}`, () => {
        validate(
          "domain",
          renderDomain({
            record: { project: "a&b", stack: "dev", name: "dev-crawl-1", entry: "lab", specHash: "0123" },
            uuid: "12345678-1234-8234-8234-123456789abc",
            mac: "52:54:00:11:22:33",
            virtType,
            firmware,
            vcpus: 2,
            memoryMiB: 512,
            diskPath: "/var/lib/libvirt/images/a.qcow2",
            seedPath: "/var/lib/libvirt/images/a-seed.iso",
            network: "default",
          }),
        );
      });
    }
  }

  it("takes volumes", () => {
    validate("storagevol", renderUploadTarget("a.iso"));
    const basePath = "/var/lib/libvirt/images/base.qcow2";
    validate(
      "storagevol",
      renderOverlay({ name: "a.qcow2", capacity: 1024n ** 3n, basePath, baseFormat: "qcow2" }),
    );
  });
});
