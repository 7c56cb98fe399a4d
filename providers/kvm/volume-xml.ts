import { escapeXml } from "./xml";

export interface OverlaySpec {
  name: string;
  /** Bytes; at least the base's virtual size. */
  capacity: bigint;
  basePath: string;
  baseFormat: "qcow2" | "raw";
}

/** A qcow2 overlay, see libvirt's formatstorage. The backing format is always explicit, compat is never the old default. */
export function renderOverlay(spec: OverlaySpec): string {
  return `<volume type="file">
  <name>${escapeXml(spec.name)}</name>
  <capacity unit="bytes">${spec.capacity}</capacity>
  <target><format type="qcow2"/><compat>1.1</compat></target>
  <backingStore><path>${escapeXml(spec.basePath)}</path><format type="${spec.baseFormat}"/></backingStore>
</volume>
`;
}

/** An empty raw volume that grows with what is written, so that its physical size tells how much arrived. */
export function renderUploadTarget(name: string): string {
  return `<volume type="file">
  <name>${escapeXml(name)}</name>
  <capacity unit="bytes">0</capacity>
  <allocation unit="bytes">0</allocation>
  <target><format type="raw"/></target>
</volume>
`;
}
