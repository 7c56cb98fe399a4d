import { LibvirtProtocolError } from "./errors";
import type { XdrReader, XdrWriter } from "./xdr";

/** How one type stands on the wire. Messages are described with these and read no bytes themselves. */
export interface Codec<T> {
  /** The fewest bytes a value takes: an array's length is checked with it before anything is made. */
  readonly minSize: number;
  write(writer: XdrWriter, value: T): void;
  read(reader: XdrReader): T;
}

type Value<C> = C extends { read(reader: XdrReader): infer T } ? T : never;
type OptionalKeys<F> = { [K in keyof F]: undefined extends Value<F[K]> ? K : never }[keyof F];

/** An object of the fields' values; a field that may be absent is an optional property. */
export type StructOf<F> = { [K in Exclude<keyof F, OptionalKeys<F>>]: Value<F[K]> } & {
  [K in OptionalKeys<F>]?: Exclude<Value<F[K]>, undefined>;
};

/** libvirt's REMOTE_STRING_MAX, in bytes. */
export const STRING_MAX = 4_194_304;

export const int: Codec<number> = {
  minSize: 4,
  write: (writer, value) => writer.int(value),
  read: (reader) => reader.int(),
};

export const uint: Codec<number> = {
  minSize: 4,
  write: (writer, value) => writer.uint(value),
  read: (reader) => reader.uint(),
};

export const hyper: Codec<bigint> = {
  minSize: 8,
  write: (writer, value) => writer.hyper(value),
  read: (reader) => reader.hyper(),
};

export const uhyper: Codec<bigint> = {
  minSize: 8,
  write: (writer, value) => writer.uhyper(value),
  read: (reader) => reader.uhyper(),
};

export const double: Codec<number> = {
  minSize: 8,
  write: (writer, value) => writer.double(value),
  read: (reader) => reader.double(),
};

/** libvirt passes truth as an int, of which any value but 0 is true. */
export const truth: Codec<boolean> = {
  minSize: 4,
  write: (writer, value) => writer.int(value ? 1 : 0),
  read: (reader) => reader.int() !== 0,
};

export const string: Codec<string> = {
  minSize: 4,
  write: (writer, value) => writer.string(value, STRING_MAX),
  read: (reader) => reader.string(STRING_MAX),
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** 16 bytes on the wire, 8-4-4-4-12 in lower case here. */
export const uuid: Codec<string> = {
  minSize: 16,
  write(writer, value) {
    if (!UUID.test(value)) throw new LibvirtProtocolError(`${JSON.stringify(value)} is no UUID`);
    writer.fixedOpaque(Buffer.from(value.replaceAll("-", ""), "hex"));
  },
  read(reader) {
    const hex = reader.fixedOpaque(16).toString("hex");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  },
};

/** Optional-data (RFC 4506, section 4.19). */
export function optional<T>(inner: Codec<T>): Codec<T | undefined> {
  return {
    minSize: 4,
    write(writer, value) {
      writer.bool(value !== undefined);
      if (value !== undefined) inner.write(writer, value);
    },
    read: (reader) => (reader.bool() ? inner.read(reader) : undefined),
  };
}

/** Variable-length array (section 4.13) of at most `max` elements. */
export function array<T>(element: Codec<T>, max: number): Codec<T[]> {
  return {
    minSize: 4,
    write(writer, values) {
      writer.count(values.length, max);
      for (const value of values) element.write(writer, value);
    },
    read(reader) {
      const values: T[] = [];
      for (let left = reader.count(max, element.minSize); left > 0; left--) values.push(element.read(reader));
      return values;
    },
  };
}

/** Structure (section 4.14): the fields in the order in which they are written down. */
export function struct<F extends object>(fields: F): Codec<StructOf<F>> {
  const entries = Object.entries(fields) as [string, Codec<unknown>][];
  return {
    minSize: entries.reduce((sum, [, codec]) => sum + codec.minSize, 0),
    write(writer, value) {
      for (const [name, codec] of entries) codec.write(writer, (value as Record<string, unknown>)[name]);
    },
    read(reader) {
      const value: Record<string, unknown> = {};
      for (const [name, codec] of entries) {
        const field = codec.read(reader);
        if (field !== undefined) value[name] = field;
      }
      return value as StructOf<F>;
    },
  };
}
