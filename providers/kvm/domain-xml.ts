import type { OwnerRecord } from "../machine/owner";
import type { Firmware } from "../machine/spec";
import { renderOwnerRecord } from "./metadata";
import { escapeXml } from "./xml";

export interface DomainSpec {
  record: OwnerRecord;
  uuid: string;
  mac: string;
  virtType: "kvm" | "qemu";
  firmware: Firmware;
  vcpus: number;
  memoryMiB: number;
  /** The root disk's path, as libvirt reports it. */
  diskPath: string;
  /** The seed's path, as libvirt reports it. */
  seedPath: string;
  network: string;
}

/**
 * The domain, see libvirt's formatdomain. Disks are `type='file'` by path, since
 * AppArmor's helper grants QEMU no others. The seed is a read-only virtio disk:
 * cloud kernels bring no AHCI driver. The firmware is chosen by libvirt; naming
 * an NVRAM path by hand has cost people their shared template.
 */
export function renderDomain(spec: DomainSpec): string {
  const text = escapeXml;
  return `<domain type="${spec.virtType}">
  <name>${text(spec.record.name)}</name>
  <uuid>${spec.uuid}</uuid>
  <metadata>${renderOwnerRecord(spec.record)}</metadata>
  <memory unit="MiB">${spec.memoryMiB}</memory>
  <vcpu>${spec.vcpus}</vcpu>
${renderOs(spec.firmware)}
  <features><acpi/><apic/></features>
${spec.virtType === "kvm" ? '  <cpu mode="host-passthrough" check="none"/>\n' : ""}  <clock offset="utc"/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>restart</on_crash>
  <devices>
    <disk type="file" device="disk">
      <driver name="qemu" type="qcow2" discard="unmap"/>
      <source file="${text(spec.diskPath)}"/>
      <target dev="vda" bus="virtio"/>
    </disk>
    <disk type="file" device="disk">
      <driver name="qemu" type="raw"/>
      <source file="${text(spec.seedPath)}"/>
      <target dev="vdb" bus="virtio"/>
      <readonly/>
    </disk>
    <interface type="network">
      <mac address="${spec.mac}"/>
      <source network="${text(spec.network)}"/>
      <model type="virtio"/>
    </interface>
    <serial type="pty"><target port="0"/></serial>
    <console type="pty"><target type="serial" port="0"/></console>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>
    <rng model="virtio"><backend model="random">/dev/urandom</backend></rng>
  </devices>
</domain>
`;
}

function renderOs(firmware: Firmware): string {
  const type = '<type arch="x86_64" machine="q35">hvm</type>';
  if (firmware === "bios") return `  <os>${type}<boot dev="hd"/></os>`;
  return `  <os firmware="efi">${type}<firmware><feature enabled="no" name="secure-boot"/></firmware><boot dev="hd"/></os>`;
}
