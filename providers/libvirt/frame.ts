import { LibvirtProtocolError } from "./errors";

/** virNetMessageType. */
export const MessageType = { CALL: 0, REPLY: 1, MESSAGE: 2, STREAM: 3 } as const;

/** virNetMessageStatus. */
export const Status = { OK: 0, ERROR: 1, CONTINUE: 2 } as const;

/** Every program that this client speaks has this version. */
export const PROGRAM_VERSION = 1;

/** VIR_NET_MESSAGE_MAX: the most bytes of a message after its length word. */
export const MESSAGE_MAX = 33_554_432;

/** The most stream bytes in a message that every daemon takes (VIR_NET_MESSAGE_LEGACY_PAYLOAD_MAX). */
export const STREAM_PAYLOAD = 262_120;

const LENGTH_SIZE = 4;
const HEADER_SIZE = LENGTH_SIZE + 6 * 4;

export interface Header {
  program: number;
  procedure: number;
  /** `MessageType`. */
  type: number;
  serial: number;
  /** `Status`. */
  status: number;
}

export interface Frame extends Header {
  payload: Buffer;
}

/** The length word and the header of a message; the payload follows it. */
export function encodeHeader(header: Header, payloadSize: number): Buffer {
  const length = HEADER_SIZE + payloadSize;
  if (length - LENGTH_SIZE > MESSAGE_MAX) {
    throw new LibvirtProtocolError(`a message of ${length} bytes exceeds the limit of ${MESSAGE_MAX}`);
  }
  const bytes = Buffer.allocUnsafe(HEADER_SIZE);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(header.program, 4);
  bytes.writeUInt32BE(PROGRAM_VERSION, 8);
  bytes.writeInt32BE(header.procedure, 12);
  bytes.writeUInt32BE(header.type, 16);
  bytes.writeUInt32BE(header.serial, 20);
  bytes.writeUInt32BE(header.status, 24);
  return bytes;
}

/**
 * Cuts the incoming bytes into frames, however they are split. It holds no more
 * than the bytes that came: a length is a promise until they are there. After
 * the first LibvirtProtocolError nothing more can be made of the bytes.
 */
export class FrameParser {
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** Of the frame that is coming in, its length word included. */
  #wanted: number | undefined;

  /** Whether a frame has begun and not ended. */
  get partial(): boolean {
    return this.#buffered > 0;
  }

  push(chunk: Buffer): Frame[] {
    if (chunk.length === 0) return [];
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#wanted === undefined) {
        if (this.#buffered < LENGTH_SIZE) return frames;
        this.#wanted = checkedLength(this.#gather(LENGTH_SIZE).readUInt32BE(0));
      }
      if (this.#buffered < this.#wanted) return frames;
      const bytes = this.#gather(this.#wanted);
      frames.push(decode(bytes.subarray(0, this.#wanted)));
      this.#drop(this.#wanted);
      this.#wanted = undefined;
    }
  }

  /** The first chunk, made to hold `size` bytes at least. */
  #gather(size: number): Buffer {
    const first = this.#chunks[0]!;
    if (first.length >= size) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #drop(size: number): void {
    const rest = this.#chunks[0]!.subarray(size);
    if (rest.length > 0) this.#chunks[0] = rest;
    else this.#chunks.shift();
    this.#buffered -= size;
  }
}

function checkedLength(length: number): number {
  if (length < HEADER_SIZE) throw new LibvirtProtocolError(`a message of only ${length} bytes`);
  if (length - LENGTH_SIZE > MESSAGE_MAX) {
    throw new LibvirtProtocolError(`a message of ${length} bytes exceeds the limit of ${MESSAGE_MAX}`);
  }
  return length;
}

function decode(bytes: Buffer): Frame {
  const version = bytes.readUInt32BE(8);
  if (version !== PROGRAM_VERSION) throw new LibvirtProtocolError(`a message of version ${version}`);
  return {
    program: bytes.readUInt32BE(4),
    procedure: bytes.readInt32BE(12),
    type: bytes.readUInt32BE(16),
    serial: bytes.readUInt32BE(20),
    status: bytes.readUInt32BE(24),
    payload: bytes.subarray(HEADER_SIZE),
  };
}
