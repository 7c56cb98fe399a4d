/** The codes that callers branch on (virErrorNumber in libvirt's virterror.h). */
export const ErrorCode = {
  INTERNAL_ERROR: 1,
  NO_CONNECT: 5,
  INVALID_ARG: 8,
  OPERATION_FAILED: 9,
  XML_ERROR: 27,
  XML_DETAIL: 35,
  SYSTEM_ERROR: 38,
  RPC: 39,
  NO_DOMAIN: 42,
  NO_NETWORK: 43,
  AUTH_FAILED: 45,
  NO_STORAGE_POOL: 49,
  NO_STORAGE_VOL: 50,
  OPERATION_INVALID: 55,
  CONFIG_UNSUPPORTED: 67,
  OPERATION_TIMEOUT: 68,
  AUTH_CANCELLED: 79,
  NO_DOMAIN_METADATA: 80,
  AGENT_UNRESPONSIVE: 86,
  RESOURCE_BUSY: 87,
  ACCESS_DENIED: 88,
  STORAGE_VOL_EXIST: 90,
  AUTH_UNAVAILABLE: 94,
} as const;

export interface LibvirtFault {
  /** virErrorNumber; see `ErrorCode`. */
  code: number;
  /** virErrorDomain: the part of libvirt that speaks. */
  domain: number;
  /** 1 warning, 2 error. */
  level: number;
  message: string;
}

/** The daemon answered a call, or a stream, with an error. */
export class LibvirtError extends Error {
  readonly code: number;
  readonly domain: number;
  readonly level: number;
  /** The C function's name: `virDomainLookupByName`. */
  readonly rpc: string;

  constructor(rpc: string, fault: LibvirtFault) {
    super(`${rpc}: ${fault.message} (libvirt error ${fault.code})`);
    this.name = "LibvirtError";
    this.code = fault.code;
    this.domain = fault.domain;
    this.level = fault.level;
    this.rpc = rpc;
  }
}

/** The peer sent what the protocol does not allow, or a value does not fit it. The connection is closed. */
export class LibvirtProtocolError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "LibvirtProtocolError";
  }
}

/** A call's deadline passed, or a stream stood still for too long. The daemon may still do what was asked. */
export class LibvirtTimeoutError extends Error {
  readonly rpc: string;
  readonly timeoutMs: number;

  constructor(rpc: string, timeoutMs: number, what = "no answer") {
    super(`${rpc}: ${what} within ${timeoutMs} ms`);
    this.name = "LibvirtTimeoutError";
    this.rpc = rpc;
    this.timeoutMs = timeoutMs;
  }
}

/** The connection is gone; `cause` says why where something went wrong. Open a new one. */
export class LibvirtClosedError extends Error {
  constructor(message = "the connection to libvirt is closed", options?: ErrorOptions) {
    super(message, options);
    this.name = "LibvirtClosedError";
  }
}

/** An upload's source yielded more or fewer bytes than the upload declared. What was sent stays in the volume. */
export class StreamLengthError extends Error {
  readonly expected: bigint;
  /** Bytes that had come when it showed. */
  readonly actual: bigint;

  constructor(rpc: string, expected: bigint, actual: bigint) {
    super(`${rpc}: ${expected} bytes were declared, the source yielded ${actual}`);
    this.name = "StreamLengthError";
    this.expected = expected;
    this.actual = actual;
  }
}

/** Whether the daemon answered with one of these codes. */
export function hasCode(error: unknown, ...codes: number[]): error is LibvirtError {
  return error instanceof LibvirtError && codes.includes(error.code);
}
