import { LibvirtProtocolError } from "./errors";

/** Reads XDR (RFC 4506) from one message. Whatever the bytes are, it throws nothing but LibvirtProtocolError. */
export class XdrReader {
  #position = 0;

  constructor(private readonly bytes: Buffer) {}

  get remaining(): number {
    return this.bytes.length - this.#position;
  }

  /** Section 4.1. */
  int(): number {
    return this.bytes.readInt32BE(this.#take(4));
  }

  /** Section 4.2. */
  uint(): number {
    return this.bytes.readUInt32BE(this.#take(4));
  }

  /** Section 4.5. */
  hyper(): bigint {
    return this.bytes.readBigInt64BE(this.#take(8));
  }

  uhyper(): bigint {
    return this.bytes.readBigUInt64BE(this.#take(8));
  }

  /** Section 4.7. */
  double(): number {
    return this.bytes.readDoubleBE(this.#take(8));
  }

  /** Section 4.4: nothing but 0 and 1. */
  bool(): boolean {
    const value = this.uint();
    if (value > 1) throw new LibvirtProtocolError(`a boolean holds ${value}`);
    return value === 1;
  }

  /** Section 4.9: `length` bytes and zeros up to a multiple of four. The bytes are a view, not a copy. */
  fixedOpaque(length: number): Buffer {
    const padded = length + padding(length);
    const start = this.#take(padded);
    for (let at = start + length; at < start + padded; at++) {
      if (this.bytes[at] !== 0) throw new LibvirtProtocolError("padding holds something other than zeros");
    }
    return this.bytes.subarray(start, start + length);
  }

  /** Section 4.10. */
  opaque(max: number): Buffer {
    return this.fixedOpaque(this.count(max, 1));
  }

  /** Section 4.11. Bytes that are no UTF-8 (a guest chooses its host name) become U+FFFD. */
  string(max: number): string {
    return this.opaque(max).toString("utf8");
  }

  /** The length of an array or string: within its limit, and its elements fit into what is left. */
  count(max: number, elementSize: number): number {
    const count = this.uint();
    if (count > max) throw new LibvirtProtocolError(`a length of ${count} exceeds the limit of ${max}`);
    if (count * elementSize > this.remaining) {
      throw new LibvirtProtocolError(`a length of ${count} with only ${this.remaining} bytes left`);
    }
    return count;
  }

  end(): void {
    if (this.remaining > 0) throw new LibvirtProtocolError(`${this.remaining} bytes too many`);
  }

  #take(length: number): number {
    if (length > this.remaining) {
      throw new LibvirtProtocolError(`${length} bytes wanted, ${this.remaining} left`);
    }
    const start = this.#position;
    this.#position += length;
    return start;
  }
}

/** Writes XDR (RFC 4506). A value that does not fit its type is a LibvirtProtocolError. */
export class XdrWriter {
  #bytes = Buffer.alloc(256);
  #length = 0;

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  int(value: number): void {
    if (!Number.isInteger(value) || value < -0x80000000 || value > 0x7fffffff) misfit(value, "int");
    const at = this.#grow(4);
    this.#bytes.writeInt32BE(value, at);
  }

  uint(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) misfit(value, "unsigned int");
    const at = this.#grow(4);
    this.#bytes.writeUInt32BE(value, at);
  }

  hyper(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) misfit(value, "hyper");
    const at = this.#grow(8);
    this.#bytes.writeBigInt64BE(value, at);
  }

  uhyper(value: bigint): void {
    if (BigInt.asUintN(64, value) !== value) misfit(value, "unsigned hyper");
    const at = this.#grow(8);
    this.#bytes.writeBigUInt64BE(value, at);
  }

  double(value: number): void {
    const at = this.#grow(8);
    this.#bytes.writeDoubleBE(value, at);
  }

  bool(value: boolean): void {
    this.uint(value ? 1 : 0);
  }

  fixedOpaque(value: Uint8Array): void {
    // First the room, then the bytes: growing replaces the buffer.
    const at = this.#grow(value.length + padding(value.length));
    this.#bytes.set(value, at);
  }

  opaque(value: Uint8Array, max: number): void {
    this.count(value.length, max);
    this.fixedOpaque(value);
  }

  /** A NUL is refused: the daemon, written in C, would see the string end there. */
  string(value: string, max: number): void {
    if (value.includes("\0")) throw new LibvirtProtocolError("a string must not hold a NUL character");
    this.opaque(Buffer.from(value, "utf8"), max);
  }

  count(count: number, max: number): void {
    if (count > max) throw new LibvirtProtocolError(`a length of ${count} exceeds the limit of ${max}`);
    this.uint(count);
  }

  /** Makes room, zeroed, and returns where it begins. */
  #grow(length: number): number {
    const start = this.#length;
    this.#length += length;
    if (this.#length > this.#bytes.length) {
      const bigger = Buffer.alloc(Math.max(this.#length, 2 * this.#bytes.length));
      this.#bytes.copy(bigger, 0, 0, start);
      this.#bytes = bigger;
    }
    return start;
  }
}

function padding(length: number): number {
  return (4 - (length % 4)) % 4;
}

function misfit(value: number | bigint, type: string): never {
  throw new LibvirtProtocolError(`${value} does not fit the type ${type}`);
}
