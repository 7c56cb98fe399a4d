import { PermanentError } from "../machine/errors";

export type ImageFormat = "qcow2" | "raw";

export interface ImageKind {
  format: ImageFormat;
  /** What a guest sees as the disk's size, in bytes. */
  virtualSize: number;
}

/** How many bytes from an image's start `sniffImage` wants to see: up to ISO 9660's first descriptor. */
export const SNIFF_BYTES = 34 * 1024;

const SECTOR = 512;

/**
 * Recognises a disk image by its first bytes and its size.
 *
 * @param head the first `SNIFF_BYTES` bytes, or all where the file is shorter
 * @param size the file's size in bytes
 * @throws PermanentError `NotAnImage`, `UnsupportedImage` (another disk format, or
 * a qcow2 that needs another file or a key), `CorruptImage`
 */
export function sniffImage(head: Buffer, size: number, where: string): ImageKind {
  if (startsWith(head, "QFI\xfb")) return sniffQcow2(head, size, where);
  refuseOthers(head, where);
  return sniffRaw(head, size, where);
}

/** True for what a captive portal or a login form sends instead of an image. */
export function looksLikeHtml(head: Buffer): boolean {
  return /^(\xef\xbb\xbf)?\s*<(!doctype\s+html|html|head|body|script|\?xml|!--)/i.test(
    head.toString("latin1", 0, 512),
  );
}

/** The qcow2 header, versions 2 and 3: QEMU's docs/interop/qcow2.rst. All fields are big-endian. */
function sniffQcow2(head: Buffer, size: number, where: string): ImageKind {
  if (head.length < 104) throw corrupt(where, "the qcow2 header is cut off");
  const version = head.readUInt32BE(4);
  if (version !== 2 && version !== 3) throw unsupported(where, `it is qcow2 of version ${version}`);
  if (head.readBigUInt64BE(8) !== 0n) throw unsupported(where, "it is a qcow2 with a backing file", FLATTEN);
  if (head.readUInt32BE(32) !== 0) throw unsupported(where, "it is an encrypted qcow2", FLATTEN);
  if (version === 3) refuseFeatures(head.readBigUInt64BE(72), where);

  const virtualSize = head.readBigUInt64BE(24);
  if (virtualSize === 0n || virtualSize > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw corrupt(where, `the qcow2 header gives a virtual size of ${virtualSize} bytes`);
  }
  const l1End = head.readBigUInt64BE(40) + BigInt(head.readUInt32BE(36)) * 8n;
  if (l1End > BigInt(size) || head.readBigUInt64BE(48) >= BigInt(size)) {
    throw corrupt(where, "the qcow2's tables lie beyond its end");
  }
  return { format: "qcow2", virtualSize: Number(virtualSize) };
}

const FLATTEN = "Flatten it with qemu-img convert -O qcow2.";

/** Incompatible features: 0 dirty, 1 corrupt, 2 external data file, 3 compression type, 4 extended L2. */
function refuseFeatures(features: bigint, where: string): void {
  if ((features & 0b10n) !== 0n) throw corrupt(where, "the qcow2 is marked as corrupt");
  if ((features & 0b100n) !== 0n)
    throw unsupported(where, "it is a qcow2 with an external data file", FLATTEN);
  if (features >> 5n !== 0n) throw unsupported(where, "it is a qcow2 with features unknown to QEMU");
}

/** A raw disk carries no magic of its own; one that boots carries an MBR or a GPT. */
function sniffRaw(head: Buffer, size: number, where: string): ImageKind {
  const mbr = head.length >= SECTOR && head.readUInt16BE(510) === 0x55aa;
  const gpt = [512, 4096].some((offset) => startsWith(head.subarray(offset), "EFI PART"));
  if (!mbr && !gpt) {
    throw new PermanentError({
      reason: "NotAnImage",
      where,
      message: "it is neither qcow2 nor a raw disk with a boot sector",
      remedy: "Check the image's URL.",
    });
  }
  if (size % SECTOR !== 0) throw corrupt(where, "a raw disk's size must be a multiple of 512 bytes");
  return { format: "raw", virtualSize: size };
}

const OTHER_FORMATS: readonly { magic: string; offset: number; name: string; remedy?: string }[] = [
  { magic: "KDMV", offset: 0, name: "a VMDK" },
  { magic: "# Disk DescriptorFile", offset: 0, name: "a VMDK descriptor" },
  { magic: "vhdxfile", offset: 0, name: "a VHDX" },
  { magic: "conectix", offset: 0, name: "a VHD" },
  { magic: "<<< ", offset: 0, name: "a VDI" },
  { magic: "PK\x03\x04", offset: 0, name: "a zip archive", remedy: "Unpack it." },
  { magic: "7z\xbc\xaf\x27\x1c", offset: 0, name: "a 7z archive", remedy: "Unpack it." },
  { magic: "ustar", offset: 257, name: "a tar archive", remedy: "Unpack it." },
  { magic: "CD001", offset: 32769, name: "an ISO 9660 image", remedy: "Use the distribution's cloud image." },
];

function refuseOthers(head: Buffer, where: string): void {
  if (looksLikeHtml(head)) throw htmlInstead(where);
  const other = OTHER_FORMATS.find(({ magic, offset }) => startsWith(head.subarray(offset), magic));
  if (other === undefined) return;
  throw unsupported(
    where,
    `it is ${other.name}`,
    other.remedy ?? "Convert it with qemu-img convert -O qcow2.",
  );
}

/** The fault for an HTML page in an image's place. */
export function htmlInstead(where: string): PermanentError {
  return new PermanentError({
    reason: "NotAnImage",
    where,
    message: "an HTML page came instead of an image",
    remedy: "Check the URL, and whether a proxy or a login page stands in between.",
  });
}

function startsWith(bytes: Buffer, magic: string): boolean {
  return bytes.toString("latin1", 0, magic.length) === magic;
}

function unsupported(
  where: string,
  message: string,
  remedy = "Use a plain qcow2 or raw image.",
): PermanentError {
  return new PermanentError({ reason: "UnsupportedImage", where, message, remedy });
}

function corrupt(where: string, message: string): PermanentError {
  return new PermanentError({
    reason: "CorruptImage",
    where,
    message,
    remedy: "The published file itself is damaged: use another image.",
  });
}
