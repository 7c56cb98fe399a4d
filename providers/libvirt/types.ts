/** A domain as the daemon names it. Every call that takes one reads all three fields. */
export interface Domain {
  name: string;
  /** 8-4-4-4-12, lower case. */
  uuid: string;
  /** -1 where the domain is not running. */
  id: number;
}

export interface StoragePool {
  name: string;
  uuid: string;
}

export interface Network {
  name: string;
  uuid: string;
}

/** A storage volume. The daemon looks it up by `pool` and `name` alone, so an empty `key` works. */
export interface StorageVol {
  pool: string;
  name: string;
  /** In a directory pool the file's path. */
  key: string;
}

export interface StorageVolInfo {
  /** `StorageVolType`. */
  type: number;
  /** The size a guest sees, in bytes. */
  capacity: bigint;
  /** Bytes taken on the host; with the flag GET_PHYSICAL the file's length. */
  allocation: bigint;
}

export interface StoragePoolInfo {
  /** `StoragePoolState`. */
  state: number;
  /** All three in bytes. */
  capacity: bigint;
  allocation: bigint;
  available: bigint;
}

export interface DhcpLease {
  /** The bridge's name on the host. */
  iface: string;
  /** Seconds since the epoch. */
  expiry: bigint;
  /** `IpAddrType`. */
  type: number;
  mac?: string;
  ipaddr: string;
  prefix: number;
  hostname?: string;
  clientid?: string;
}

export interface DomainInterface {
  name: string;
  hwaddr?: string;
  addrs: DomainIpAddress[];
}

export interface DomainIpAddress {
  /** `IpAddrType`. */
  type: number;
  addr: string;
  prefix: number;
}

export interface DomainStateInfo {
  /** `DomainState`. */
  state: number;
  /** Its meaning depends on the state. */
  reason: number;
}

/** Typed parameters by name; 64-bit ones are bigints. */
export type TypedParams = Record<string, number | bigint | boolean | string>;

export interface DomainStats {
  domain: Domain;
  params: TypedParams;
}

/** One finished call, for logs and metrics. An upload is finished at its end, a download once it has begun. */
export interface CallRecord {
  /** The C function's name: `virDomainLookupByName`. */
  rpc: string;
  durationMs: number;
  /** What the call was about: `domain`, `uuid`, `pool`, `volume`, `network`, `name`. */
  identifiers: Record<string, string>;
  /** What came back, in short: counts of lists, figures, names, lengths of texts. Absent on failure. */
  result?: Record<string, unknown>;
  /** XML that was sent or received; never seeds, images or the guest agent's commands. */
  xml?: { sent?: string; received?: string };
  /** Absent on success; `code` is libvirt's, where the daemon gave one. */
  error?: { code?: number; message: string };
}

export interface CallOptions {
  /** Milliseconds until the call fails with LibvirtTimeoutError, its wait for a turn included. */
  timeoutMs?: number;
}

export interface UploadOptions {
  /** Where in the volume to begin, in bytes. Default 0. */
  offset?: bigint;
  /** How many bytes `source` will yield; more or fewer fail with StreamLengthError. Default: as many as come. */
  length?: bigint;
  flags?: number;
  signal?: AbortSignal;
  /** Called with all the bytes handed to the transport so far. */
  onProgress?: (bytes: number) => void;
}

export interface DownloadOptions {
  /** Where in the volume to begin, in bytes. Default 0. */
  offset?: bigint;
  /** At most so many bytes. Default: to the end. */
  length?: bigint;
  signal?: AbortSignal;
}

/** What `connectGetDomainCapabilities` is asked about; what is left out the daemon chooses. */
export interface DomainCapabilitiesQuery {
  emulator?: string;
  arch?: string;
  machine?: string;
  virtType?: string;
  flags?: number;
}
