import { GUEST_AGENT_SCRIPT } from "./guest-agent";
import { type IsoFile, isoImage } from "./iso9660";
import { joinVendorData } from "./vendor-data";

export interface SeedInput {
  /** A new one makes cloud-init treat the machine as new. */
  instanceId: string;
  localHostname: string;
  /** Any of cloud-init's formats; reaches the guest byte for byte. */
  userData: string | Uint8Array;
  /** The user's own; goes byte for byte where no guest agent is to be installed, else as one part of two. */
  vendorData?: string | Uint8Array;
  /** cloud-init network-config, version 1 or 2. Default: none, so the image's own network set-up applies. */
  networkConfig?: string;
  /** Adds a vendor-data script that gets QEMU's guest agent running. */
  installGuestAgent: boolean;
}

/**
 * A NoCloud seed: the ISO 9660 image with the volume label `cidata` that cloud-init reads its data from.
 * The same input gives the same bytes. Attach it as a read-only virtio disk: not every cloud kernel has a driver
 * for a SATA CD-ROM.
 *
 * @throws PermanentError `VendorDataCorrupt`: vendor-data that is to be joined to ours is no whole gzip stream.
 */
export function renderSeed(input: SeedInput): Buffer {
  const vendorData = vendorDataOf(input);
  const files: IsoFile[] = [
    { name: "meta-data", content: Buffer.from(metaData(input)) },
    { name: "user-data", content: bytesOf(input.userData) },
  ];
  if (vendorData !== undefined) files.push({ name: "vendor-data", content: vendorData });
  if (input.networkConfig !== undefined) {
    files.push({ name: "network-config", content: Buffer.from(input.networkConfig) });
  }
  return isoImage("cidata", files);
}

function vendorDataOf({ vendorData, installGuestAgent }: SeedInput): Uint8Array | undefined {
  const own = vendorData === undefined ? undefined : bytesOf(vendorData);
  if (!installGuestAgent) return own;
  return own === undefined || own.length === 0
    ? Buffer.from(GUEST_AGENT_SCRIPT)
    : joinVendorData(own, GUEST_AGENT_SCRIPT);
}

/** JSON that is YAML too: escaped is also what JSON lets stand but YAML takes for a break or refuses (YAML 1.1, 5.1). */
function metaData({ instanceId, localHostname }: SeedInput): string {
  const json = JSON.stringify({ "instance-id": instanceId, "local-hostname": localHostname });
  const escaped = json.replace(
    /[\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${escaped}\n`;
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data) : data;
}
