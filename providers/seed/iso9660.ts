/**
 * A writer of small ISO 9660 images (ECMA-119): one flat root directory, with Joliet names (a supplementary
 * volume descriptor in UCS-2) and Rock Ridge names and modes (SUSP 1.12, RRIP_1991A). The same files give the
 * same bytes: every timestamp is the same fixed moment.
 */
export interface IsoFile {
  /** Letters, digits and hyphens, at most 27 characters. */
  name: string;
  content: Uint8Array;
}

const SECTOR = 2048;
const PRIMARY_DESCRIPTOR = 16;
const JOLIET_DESCRIPTOR = 17;
const TERMINATOR = 18;
const PRIMARY_PATH_TABLES = { little: 19, big: 20 };
const JOLIET_PATH_TABLES = { little: 21, big: 22 };
const PRIMARY_ROOT = 23;
const JOLIET_ROOT = 24;
const FIRST_FILE = 25;
const PATH_TABLE_BYTES = 10;

/** 1980-01-01 00:00:00 UTC in the 7 bytes of a directory record (ECMA-119, 9.1.5). */
const RECORD_TIME = [80, 1, 1, 0, 0, 0, 0];
/** The same moment, and "not specified", as volume descriptors write times (ECMA-119, 8.4.26.1). */
const VOLUME_TIME = "1980010100000000\0";
const NO_TIME = "0000000000000000\0";

const ROOT_MODE = 0o040555;
/** Seeds may hold secrets, and only root reads them. */
const FILE_MODE = 0o100400;

interface Placed extends IsoFile {
  sector: number;
}

/** Builds the image; its length is a multiple of 2048 bytes. */
export function isoImage(label: string, files: readonly IsoFile[]): Buffer {
  let next = FIRST_FILE;
  const placed: Placed[] = [...files]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((file) => {
      if (!/^[A-Za-z0-9-]{1,27}$/.test(file.name))
        throw new RangeError(`no name for a seed's file: ${file.name}`);
      const sector = next;
      next += Math.ceil(file.content.length / SECTOR);
      return { ...file, sector };
    });

  const image = Buffer.alloc(next * SECTOR);
  const put = (sector: number, bytes: Uint8Array) => image.set(bytes, sector * SECTOR);
  put(PRIMARY_DESCRIPTOR, descriptor("primary", label, next));
  put(JOLIET_DESCRIPTOR, descriptor("joliet", label, next));
  put(TERMINATOR, Buffer.from("\xffCD001\x01", "latin1"));
  for (const [root, tables] of [
    [PRIMARY_ROOT, PRIMARY_PATH_TABLES],
    [JOLIET_ROOT, JOLIET_PATH_TABLES],
  ] as const) {
    put(tables.little, pathTable(root, "little"));
    put(tables.big, pathTable(root, "big"));
  }
  put(PRIMARY_ROOT, directory(primaryRecords(placed)));
  put(JOLIET_ROOT, directory(jolietRecords(placed)));
  for (const file of placed) put(file.sector, file.content);
  return image;
}

/** A primary (8.4) or supplementary (8.5) volume descriptor. */
function descriptor(kind: "primary" | "joliet", label: string, sectors: number): Buffer {
  const joliet = kind === "joliet";
  const tables = joliet ? JOLIET_PATH_TABLES : PRIMARY_PATH_TABLES;
  const text = (value: string, bytes: number) =>
    joliet ? ucs2(value.padEnd(bytes >> 1, " "), bytes) : Buffer.from(value.padEnd(bytes, " "), "latin1");
  const d = Buffer.alloc(SECTOR);
  d.write(`${joliet ? "\x02" : "\x01"}CD001\x01`, 0, "latin1");
  d.set(text("", 32), 8); // system identifier
  d.set(text(label, 32), 40);
  d.set(both32(sectors), 80);
  if (joliet) d.write("%/E", 88, "latin1"); // Joliet level 3: UCS-2
  d.set(both16(1), 120); // volume set size
  d.set(both16(1), 124); // volume sequence number
  d.set(both16(SECTOR), 128);
  d.set(both32(PATH_TABLE_BYTES), 132);
  d.writeUInt32LE(tables.little, 140);
  d.writeUInt32BE(tables.big, 148);
  d.set(record(Buffer.from([0]), joliet ? JOLIET_ROOT : PRIMARY_ROOT, SECTOR, true), 156);
  d.set(text("", 623), 190); // volume set, publisher, preparer, application, and three file identifiers
  for (const [at, time] of [
    [813, VOLUME_TIME],
    [830, VOLUME_TIME],
    [847, NO_TIME],
    [864, NO_TIME],
  ] as const) {
    d.write(time, at, "latin1");
  }
  d.writeUInt8(1, 881); // file structure version
  return d;
}

/** A path table with its one entry, the root (9.4). */
function pathTable(root: number, order: "little" | "big"): Buffer {
  const table = Buffer.alloc(PATH_TABLE_BYTES);
  table.writeUInt8(1, 0);
  if (order === "little") {
    table.writeUInt32LE(root, 2);
    table.writeUInt16LE(1, 6);
  } else {
    table.writeUInt32BE(root, 2);
    table.writeUInt16BE(1, 6);
  }
  return table;
}

function primaryRecords(files: readonly Placed[]): Buffer[] {
  const self = Buffer.concat([sharingProtocol(), posix(ROOT_MODE, 2), rockRidge()]);
  return [
    record(Buffer.from([0]), PRIMARY_ROOT, SECTOR, true, self),
    record(Buffer.from([1]), PRIMARY_ROOT, SECTOR, true, posix(ROOT_MODE, 2)),
    ...files.map((file) => {
      const identifier = Buffer.from(`${file.name.toUpperCase().replaceAll("-", "_")}.;1`, "latin1");
      const extensions = Buffer.concat([posix(FILE_MODE, 1), alternateName(file.name)]);
      return record(identifier, file.sector, file.content.length, false, extensions);
    }),
  ];
}

function jolietRecords(files: readonly Placed[]): Buffer[] {
  return [
    record(Buffer.from([0]), JOLIET_ROOT, SECTOR, true),
    record(Buffer.from([1]), JOLIET_ROOT, SECTOR, true),
    ...files.map((file) =>
      record(ucs2(file.name, file.name.length * 2), file.sector, file.content.length, false),
    ),
  ];
}

function directory(records: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(records);
  if (bytes.length > SECTOR) throw new RangeError("too many files for a seed's one directory sector");
  return bytes;
}

/** A directory record (9.1); identifier and system use fields are each padded to an even length. */
function record(
  identifier: Buffer,
  sector: number,
  size: number,
  isDirectory: boolean,
  systemUse: Buffer = Buffer.alloc(0),
): Buffer {
  const head = 33 + identifier.length + ((identifier.length + 1) % 2);
  const r = Buffer.alloc(head + systemUse.length + (systemUse.length % 2));
  r.writeUInt8(r.length, 0);
  r.set(both32(sector), 2);
  r.set(both32(size), 10);
  r.set(RECORD_TIME, 18);
  r.writeUInt8(isDirectory ? 2 : 0, 25);
  r.set(both16(1), 28); // volume sequence number
  r.writeUInt8(identifier.length, 32);
  r.set(identifier, 33);
  r.set(systemUse, head);
  return r;
}

/** SP (SUSP 5.3): system use fields are in use, from their first byte. */
function sharingProtocol(): Buffer {
  return Buffer.from("SP\x07\x01\xbe\xef\x00", "latin1");
}

/** ER (SUSP 5.5) that names Rock Ridge, without its optional texts. */
function rockRidge(): Buffer {
  return Buffer.from("ER\x12\x01\x0a\x00\x00\x01RRIP_1991A", "latin1");
}

/** PX (RRIP 4.1.1): mode, links, and root as user and group. */
function posix(mode: number, links: number): Buffer {
  return Buffer.concat([
    Buffer.from("PX\x24\x01", "latin1"),
    both32(mode),
    both32(links),
    both32(0),
    both32(0),
  ]);
}

/** NM (RRIP 4.1.4): the file's real name. */
function alternateName(name: string): Buffer {
  const bytes = Buffer.from(name, "latin1");
  return Buffer.concat([Buffer.from("NM", "latin1"), Buffer.from([5 + bytes.length, 1, 0]), bytes]);
}

/** Both-byte orders (7.3.3): little endian, then big endian. */
function both32(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(value, 0);
  bytes.writeUInt32BE(value, 4);
  return bytes;
}

function both16(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(value, 0);
  bytes.writeUInt16BE(value, 2);
  return bytes;
}

/** Big-endian UCS-2 in a field of `bytes` bytes; an odd last byte stays zero. */
function ucs2(text: string, bytes: number): Buffer {
  const field = Buffer.alloc(bytes);
  field.set(Buffer.from(text, "utf16le").swap16());
  return field;
}
