import assert from "node:assert/strict";

export interface ReadImage {
  label: string;
  /** Each file's bytes by its Rock Ridge or Joliet name. */
  files: Map<string, Buffer>;
}

const SECTOR = 2048;

/**
 * A strict reader of one-directory ISO 9660 images, apart from the writer: descriptors are found by walking from
 * sector 16, and every field that stands in both byte orders must agree with itself.
 */
export function readIso(image: Buffer, names: "rock-ridge" | "joliet"): ReadImage {
  assert.equal(image.length % SECTOR, 0, "the image ends within a sector");
  const descriptor = findDescriptor(image, names === "joliet" ? 2 : 1);
  assert.equal(both32(descriptor, 80) * SECTOR, image.length, "volume size");
  assert.equal(both16(descriptor, 128), SECTOR, "block size");
  if (names === "joliet") assert.equal(descriptor.toString("latin1", 88, 91), "%/E");
  const root = directoryRecord(descriptor.subarray(156, 190));
  checkPathTables(image, descriptor, root.sector);

  const files = new Map<string, Buffer>();
  let previous = "";
  for (const record of records(image.subarray(root.sector * SECTOR, root.sector * SECTOR + root.size))) {
    if (record.identifier.length === 1) continue; // . and ..
    const identifier = record.identifier.toString("latin1");
    assert.ok(identifier > previous, "directory records are in order (ECMA-119, 9.3)");
    previous = identifier;
    const name = names === "joliet" ? utf16be(record.identifier) : rockRidgeName(record.systemUse);
    const start = record.sector * SECTOR;
    assert.ok(start + record.size <= image.length, `${name} reaches beyond the image`);
    files.set(name, image.subarray(start, start + record.size));
  }
  const label = descriptor.subarray(40, 72);
  return { label: (names === "joliet" ? utf16be(label) : label.toString("latin1")).trimEnd(), files };
}

function findDescriptor(image: Buffer, type: number): Buffer {
  for (let sector = 16; ; sector++) {
    const descriptor = image.subarray(sector * SECTOR, (sector + 1) * SECTOR);
    assert.equal(descriptor.toString("latin1", 1, 6), "CD001", `descriptor in sector ${sector}`);
    if (descriptor[0] === type) return descriptor;
    assert.notEqual(descriptor[0], 255, `no descriptor of type ${type}`);
  }
}

interface DirectoryRecord {
  sector: number;
  size: number;
  identifier: Buffer;
  systemUse: Buffer;
}

function* records(directory: Buffer): Generator<DirectoryRecord> {
  for (let at = 0; at < directory.length && directory[at] !== 0; at += directory[at]!) {
    yield directoryRecord(directory.subarray(at, at + directory[at]!));
  }
}

function directoryRecord(bytes: Buffer): DirectoryRecord {
  assert.equal(bytes.length % 2, 0, "a directory record of odd length");
  const identifierEnd = 33 + bytes.readUInt8(32);
  return {
    sector: both32(bytes, 2),
    size: both32(bytes, 10),
    identifier: bytes.subarray(33, identifierEnd),
    systemUse: bytes.subarray(identifierEnd + (identifierEnd % 2)),
  };
}

function checkPathTables(image: Buffer, descriptor: Buffer, root: number): void {
  assert.equal(both32(descriptor, 132), 10, "path table size");
  const little = image.subarray(descriptor.readUInt32LE(140) * SECTOR);
  const big = image.subarray(descriptor.readUInt32BE(148) * SECTOR);
  assert.equal(little.readUInt32LE(2), root, "little-endian path table");
  assert.equal(big.readUInt32BE(2), root, "big-endian path table");
}

function rockRidgeName(systemUse: Buffer): string {
  for (let at = 0; at + 4 <= systemUse.length; at += systemUse.readUInt8(at + 2)) {
    if (systemUse.toString("latin1", at, at + 2) === "NM") {
      return systemUse.toString("latin1", at + 5, at + systemUse.readUInt8(at + 2));
    }
  }
  assert.fail("a file without a Rock Ridge name");
}

function both32(bytes: Buffer, at: number): number {
  assert.equal(bytes.readUInt32LE(at), bytes.readUInt32BE(at + 4), `both byte orders at ${at}`);
  return bytes.readUInt32LE(at);
}

function both16(bytes: Buffer, at: number): number {
  assert.equal(bytes.readUInt16LE(at), bytes.readUInt16BE(at + 2), `both byte orders at ${at}`);
  return bytes.readUInt16LE(at);
}

function utf16be(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString("utf16le");
}
