import type { Duplex } from "node:stream";
import { RpcConnection } from "./connection";
import { ErrorCode, LibvirtError } from "./errors";
import { type Procedure, procedures } from "./procedures";
import { recorded } from "./record";
import { download, upload } from "./transfer";
import { byName } from "./typed-param";
import type {
  CallOptions,
  CallRecord,
  DhcpLease,
  Domain,
  DomainCapabilitiesQuery,
  DomainInterface,
  DomainStateInfo,
  DomainStats,
  DownloadOptions,
  Network,
  StoragePool,
  StoragePoolInfo,
  StorageVol,
  StorageVolInfo,
  UploadOptions,
} from "./types";

export interface OpenOptions {
  /** Default `qemu:///system`. */
  uri?: string;
  /** Milliseconds a call may take where the call says nothing else. Default 30 000. */
  callTimeoutMs?: number;
  /** Calls on the wire at once; the daemon stops reading at 5. Default 4. */
  maxInFlight?: number;
  /** Milliseconds of silence until the daemon is pinged. Default 5 000. */
  keepaliveIntervalMs?: number;
  /** Milliseconds of silence until the connection counts as dead. Default 30 000. */
  keepaliveLimitMs?: number;
  /** Milliseconds that an upload or a download may stand still. Default 120 000. */
  streamStallMs?: number;
  /** Told of every finished call. */
  onCall?: (record: CallRecord) => void;
}

/** remote_auth_type. */
const AuthType = { NONE: 0, SASL: 1, POLKIT: 2 } as const;

/** How long the daemon may take over the goodbye. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * A connection to libvirtd, with the C library's calls as methods: same names
 * without `vir`, same arguments. Each rejects with LibvirtError where the
 * daemon answers with an error, with LibvirtTimeoutError after its deadline,
 * with LibvirtClosedError once the connection is gone.
 */
export class LibvirtClient {
  private constructor(
    private readonly connection: RpcConnection,
    private readonly onCall: ((record: CallRecord) => void) | undefined,
  ) {}

  /** Takes over `transport`, authenticates, and opens `uri`. Where that fails the transport is destroyed. */
  static async open(transport: Duplex, options: OpenOptions = {}): Promise<LibvirtClient> {
    const connection = new RpcConnection(transport, {
      callTimeoutMs: options.callTimeoutMs ?? 30_000,
      maxInFlight: options.maxInFlight ?? 4,
      keepaliveIntervalMs: options.keepaliveIntervalMs ?? 5_000,
      keepaliveLimitMs: options.keepaliveLimitMs ?? 30_000,
      streamStallMs: options.streamStallMs ?? 120_000,
    });
    const client = new LibvirtClient(connection, options.onCall);
    try {
      const { types } = await client.#call(procedures.authList, {});
      if (types.includes(AuthType.POLKIT)) {
        await client.#call(procedures.authPolkit, {});
      } else if (types.length > 0 && !types.includes(AuthType.NONE)) {
        throw new LibvirtError(procedures.authList.rpc, {
          code: ErrorCode.AUTH_UNAVAILABLE,
          domain: 0,
          level: 2,
          message: `libvirtd asks for a way of authentication that is not supported here: ${types.join(", ")}`,
        });
      }
      await client.#call(procedures.connectOpen, { name: options.uri ?? "qemu:///system", flags: 0 });
      return client;
    } catch (error) {
      connection.end(error instanceof Error ? error : undefined);
      throw error;
    }
  }

  get closed(): boolean {
    return this.connection.closed;
  }

  /** Called once, at once where the connection is gone already. Without an error: closed by `close`. */
  onClose(listener: (error?: Error) => void): void {
    this.connection.onClose(listener);
  }

  /** Says goodbye and closes the transport. What is under way rejects with LibvirtClosedError. Never rejects. */
  async close(): Promise<void> {
    if (this.closed) return;
    try {
      await this.#call(procedures.connectClose, {}, { timeoutMs: CLOSE_TIMEOUT_MS });
    } catch {
      // A daemon that takes no goodbye sees the end of the transport.
    } finally {
      this.connection.end();
    }
  }

  /** major * 1,000,000 + minor * 1,000 + release. */
  async connectGetLibVersion(): Promise<number> {
    return Number((await this.#call(procedures.connectGetLibVersion, {})).version);
  }

  async connectGetHostname(): Promise<string> {
    return (await this.#call(procedures.connectGetHostname, {})).hostname;
  }

  async connectGetCapabilities(options?: CallOptions): Promise<string> {
    return (await this.#call(procedures.connectGetCapabilities, {}, options)).xml;
  }

  async connectGetDomainCapabilities(
    query: DomainCapabilitiesQuery = {},
    options?: CallOptions,
  ): Promise<string> {
    return (await this.#call(procedures.connectGetDomainCapabilities, { flags: 0, ...query }, options)).xml;
  }

  /** `flags`: `ListDomains`. */
  async connectListAllDomains(flags = 0): Promise<Domain[]> {
    return (await this.#call(procedures.connectListAllDomains, { needResults: true, flags })).domains;
  }

  /** `stats`: `DomainStatsType`; `flags`: `GetAllDomainStats`. */
  async connectGetAllDomainStats(stats: number, flags = 0): Promise<DomainStats[]> {
    const { records } = await this.#call(procedures.connectGetAllDomainStats, { domains: [], stats, flags });
    return records.map(({ dom, params }) => ({ domain: dom, params: byName(params) }));
  }

  /** `flags`: `ListStoragePools`. */
  async connectListAllStoragePools(flags = 0): Promise<StoragePool[]> {
    return (await this.#call(procedures.connectListAllStoragePools, { needResults: true, flags })).pools;
  }

  async domainLookupByName(name: string): Promise<Domain> {
    return (await this.#call(procedures.domainLookupByName, { name })).domain;
  }

  async domainLookupByUUID(uuid: string): Promise<Domain> {
    return (await this.#call(procedures.domainLookupByUUID, { uuid })).domain;
  }

  async domainDefineXML(xml: string): Promise<Domain> {
    return (await this.#call(procedures.domainDefineXML, { xml })).domain;
  }

  /** `flags`: `DomainCreate`. Returns the domain with its new id. */
  async domainCreateWithFlags(domain: Domain, flags = 0, options?: CallOptions): Promise<Domain> {
    return (await this.#call(procedures.domainCreateWithFlags, { domain, flags }, options)).domain;
  }

  /** `flags`: `DomainDestroy`. */
  async domainDestroyFlags(domain: Domain, flags = 0, options?: CallOptions): Promise<void> {
    await this.#call(procedures.domainDestroyFlags, { domain, flags }, options);
  }

  /** Asks the guest to shut down and does not wait for it. */
  async domainShutdown(domain: Domain): Promise<void> {
    await this.#call(procedures.domainShutdown, { domain });
  }

  async domainResume(domain: Domain): Promise<void> {
    await this.#call(procedures.domainResume, { domain });
  }

  /** `flags`: `DomainUndefine`. */
  async domainUndefineFlags(domain: Domain, flags: number): Promise<void> {
    await this.#call(procedures.domainUndefineFlags, { domain, flags });
  }

  /** `flags`: `DomainXml`. */
  async domainGetXMLDesc(domain: Domain, flags = 0): Promise<string> {
    return (await this.#call(procedures.domainGetXMLDesc, { domain, flags })).xml;
  }

  async domainGetState(domain: Domain): Promise<DomainStateInfo> {
    return this.#call(procedures.domainGetState, { domain, flags: 0 });
  }

  /** `type`: `DomainMetadata`; `uri` only with ELEMENT; `flags`: `DomainAffect`. */
  async domainGetMetadata(domain: Domain, type: number, uri?: string, flags = 0): Promise<string> {
    const args = { domain, type, flags, ...(uri !== undefined && { uri }) };
    return (await this.#call(procedures.domainGetMetadata, args)).metadata;
  }

  /** `type`: `DomainMetadata`; a null `metadata` removes it; `flags`: `DomainAffect`. */
  async domainSetMetadata(
    domain: Domain,
    type: number,
    metadata: string | null,
    key: string | null,
    uri: string | null,
    flags: number,
  ): Promise<void> {
    await this.#call(procedures.domainSetMetadata, {
      domain,
      type,
      flags,
      ...(metadata !== null && { metadata }),
      ...(key !== null && { key }),
      ...(uri !== null && { uri }),
    });
  }

  /** `source`: `DomainInterfaceSource`. */
  async domainInterfaceAddresses(domain: Domain, source: number, flags = 0): Promise<DomainInterface[]> {
    return (await this.#call(procedures.domainInterfaceAddresses, { domain, source, flags })).interfaces;
  }

  async domainSetAutostart(domain: Domain, on: boolean): Promise<void> {
    await this.#call(procedures.domainSetAutostart, { domain, autostart: on });
  }

  async storagePoolLookupByName(name: string): Promise<StoragePool> {
    return (await this.#call(procedures.storagePoolLookupByName, { name })).pool;
  }

  async storagePoolGetXMLDesc(pool: StoragePool, flags = 0): Promise<string> {
    return (await this.#call(procedures.storagePoolGetXMLDesc, { pool, flags })).xml;
  }

  async storagePoolIsActive(pool: StoragePool): Promise<boolean> {
    return (await this.#call(procedures.storagePoolIsActive, { pool })).active;
  }

  async storagePoolGetInfo(pool: StoragePool): Promise<StoragePoolInfo> {
    return this.#call(procedures.storagePoolGetInfo, { pool });
  }

  async storagePoolListAllVolumes(pool: StoragePool, flags = 0): Promise<StorageVol[]> {
    return (await this.#call(procedures.storagePoolListAllVolumes, { pool, needResults: true, flags }))
      .volumes;
  }

  /** A refresh that fails deactivates the pool: never part of a routine. */
  async storagePoolRefresh(pool: StoragePool, options?: CallOptions): Promise<void> {
    await this.#call(procedures.storagePoolRefresh, { pool, flags: 0 }, options);
  }

  async storageVolCreateXML(
    pool: StoragePool,
    xml: string,
    flags = 0,
    options?: CallOptions,
  ): Promise<StorageVol> {
    return (await this.#call(procedures.storageVolCreateXML, { pool, xml, flags }, options)).volume;
  }

  /** `flags`: `StorageVolDelete`. */
  async storageVolDelete(volume: StorageVol, flags = 0, options?: CallOptions): Promise<void> {
    await this.#call(procedures.storageVolDelete, { volume, flags }, options);
  }

  async storageVolLookupByName(pool: StoragePool, name: string): Promise<StorageVol> {
    return (await this.#call(procedures.storageVolLookupByName, { pool, name })).volume;
  }

  async storageVolGetInfo(volume: StorageVol): Promise<StorageVolInfo> {
    return this.#call(procedures.storageVolGetInfo, { volume });
  }

  /** `flags`: `StorageVolGetInfo`. */
  async storageVolGetInfoFlags(volume: StorageVol, flags: number): Promise<StorageVolInfo> {
    return this.#call(procedures.storageVolGetInfoFlags, { volume, flags });
  }

  async storageVolGetXMLDesc(volume: StorageVol, flags = 0): Promise<string> {
    return (await this.#call(procedures.storageVolGetXMLDesc, { volume, flags })).xml;
  }

  async storageVolGetPath(volume: StorageVol): Promise<string> {
    return (await this.#call(procedures.storageVolGetPath, { volume })).path;
  }

  /**
   * Sends all of `source` into the volume and returns how many bytes that were.
   * The daemon's answer proves nothing about what was written: compare
   * `storageVolGetInfoFlags(volume, GET_PHYSICAL)` with what should be there.
   *
   * On any failure the stream is aborted; what was written so far stays. The
   * chunks are sent without copying: `source` must not reuse a chunk's memory.
   */
  async storageVolUpload(
    volume: StorageVol,
    source: AsyncIterable<Uint8Array>,
    { offset = 0n, flags = 0, ...plan }: UploadOptions = {},
  ): Promise<number> {
    const procedure = procedures.storageVolUpload;
    const args = { volume, offset, length: plan.length ?? 0n, flags };
    return this.#recorded(procedure, args, async () => {
      plan.signal?.throwIfAborted();
      const stream = await this.connection.openStream(procedure, args, "upload");
      return upload(stream, source, { rpc: procedure.rpc, ...plan });
    });
  }

  /**
   * The volume's bytes. Leaving the loop early aborts the stream. A consumer
   * that is slow holds up the connection, its other calls included.
   */
  async *storageVolDownload(
    volume: StorageVol,
    { offset = 0n, length = 0n, signal }: DownloadOptions = {},
  ): AsyncGenerator<Buffer, void, void> {
    const procedure = procedures.storageVolDownload;
    const args = { volume, offset, length, flags: 0 };
    signal?.throwIfAborted();
    const stream = await this.#recorded(procedure, args, () =>
      this.connection.openStream(procedure, args, "download"),
    );
    yield* download(stream, signal);
  }

  async networkLookupByName(name: string): Promise<Network> {
    return (await this.#call(procedures.networkLookupByName, { name })).network;
  }

  async networkIsActive(network: Network): Promise<boolean> {
    return (await this.#call(procedures.networkIsActive, { network })).active;
  }

  /** All leases, or those of one MAC address. */
  async networkGetDhcpLeases(network: Network, mac?: string, flags = 0): Promise<DhcpLease[]> {
    const args = { network, needResults: true, flags, ...(mac !== undefined && { mac }) };
    return (await this.#call(procedures.networkGetDhcpLeases, args)).leases;
  }

  /** The agent's answer, as JSON. `timeoutSeconds`: seconds, or `AgentTimeout`. */
  async qemuDomainAgentCommand(
    domain: Domain,
    command: string,
    timeoutSeconds: number,
    flags = 0,
    options?: CallOptions,
  ): Promise<string> {
    const args = { domain, command, timeout: timeoutSeconds, flags };
    return (await this.#call(procedures.qemuDomainAgentCommand, args, options)).result ?? "";
  }

  #call<Args extends object, Result>(
    procedure: Procedure<Args, Result>,
    args: Args,
    options?: CallOptions,
  ): Promise<Result> {
    return this.#recorded(procedure, args, () => this.connection.call(procedure, args, options?.timeoutMs));
  }

  #recorded<T>({ rpc }: { rpc: string }, args: object, work: () => Promise<T>): Promise<T> {
    return recorded(rpc, args, this.onCall, work);
  }
}
