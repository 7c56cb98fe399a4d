import { type DhcpLease, type LibvirtClient, LibvirtError, type Network, type StoragePool } from "../libvirt";
import { PermanentError } from "../machine/errors";
import type { Clock } from "../machine/retry";
import type { KvmHost } from "../machine/spec";
import { onHost } from "./faults";
import { type Snapshot, takeSnapshot } from "./snapshot";
import { parseXml, textAt } from "./xml";

/** Opens a libvirt connection for one purpose: short calls, or bulk bytes that would hold them up. */
export type Dial = (host: KvmHost, purpose: "calls" | "bulk") => Promise<LibvirtClient>;

export interface PoolFacts {
  pool: StoragePool;
  /** Where its volumes lie on the host. */
  directory: string;
}

/** Pools whose volumes are files: an overlay and its base must be. */
const FILE_POOLS = new Set(["dir", "fs", "netfs"]);

const SNAPSHOT_MS = 30_000;
const LEASES_MS = 1_500;

/** What all machines of one host share while this process works on them: connections and facts. */
export class HostSession {
  readonly #clients = new Map<"calls" | "bulk", Promise<LibvirtClient>>();
  readonly #facts = new Map<string, { at: number; value: Promise<unknown> }>();

  constructor(
    readonly host: KvmHost,
    private readonly dial: Dial,
    readonly clock: Clock,
  ) {}

  calls(): Promise<LibvirtClient> {
    return this.#client("calls");
  }

  bulk(): Promise<LibvirtClient> {
    return this.#client("bulk");
  }

  pool(): Promise<PoolFacts> {
    return this.#once("pool", Number.POSITIVE_INFINITY, () => readPool(this));
  }

  /** `kvm` where the host's capabilities offer it for x86_64 guests, else `qemu`; the config may force one. */
  virtType(): Promise<"kvm" | "qemu"> {
    if (this.host.virtType !== undefined) return Promise.resolve(this.host.virtType);
    return this.#once("virtType", Number.POSITIVE_INFINITY, async () => {
      const capabilities = await (await this.calls()).connectGetCapabilities();
      return /<domain type=['"]kvm['"]/.test(capabilities) ? "kvm" : "qemu";
    });
  }

  /** Fails where the network is not there or not active, before anything is made. */
  network(): Promise<Network> {
    return this.#once("network", Number.POSITIVE_INFINITY, () => readNetwork(this));
  }

  /**
   * Asked anew after libvirt refused something there: throws where it was stopped or
   * removed since it was looked at first.
   */
  async recheck(what: "pool" | "network"): Promise<void> {
    this.#facts.delete(what);
    await (what === "pool" ? this.pool() : this.network());
  }

  /**
   * The network's DHCP leases, asked once for all machines that wait at the
   * moment; none where libvirt keeps none for this kind of network.
   */
  leases(): Promise<DhcpLease[]> {
    return this.#once("leases", LEASES_MS, async () => {
      const [client, network] = [await this.calls(), await this.network()];
      try {
        return await client.networkGetDhcpLeases(network);
      } catch (error) {
        if (error instanceof LibvirtError) return [];
        throw error;
      }
    });
  }

  /** State and address of every domain, asked once for all reads of a run. */
  snapshot(): Promise<Snapshot> {
    return this.#once("snapshot", SNAPSHOT_MS, () => takeSnapshot(this));
  }

  /** What was seen before a change of the host says nothing any more. */
  changed(): void {
    this.#facts.delete("snapshot");
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const client of await Promise.allSettled(clients)) {
      if (client.status === "fulfilled") await client.value.close();
    }
  }

  async #client(purpose: "calls" | "bulk"): Promise<LibvirtClient> {
    const known = this.#clients.get(purpose);
    if (known !== undefined) {
      const client = await known;
      if (!client.closed) return client;
      if (this.#clients.get(purpose) !== known) return this.#client(purpose);
    }
    const dialled = this.dial(this.host, purpose);
    this.#clients.set(purpose, dialled);
    dialled.catch(() => this.#clients.get(purpose) === dialled && this.#clients.delete(purpose));
    return dialled;
  }

  /** One question at a time and one answer for `maxAgeMs`; a failed one is forgotten. */
  #once<T>(key: string, maxAgeMs: number, ask: () => Promise<T>): Promise<T> {
    const known = this.#facts.get(key);
    if (known !== undefined && this.clock.now() - known.at < maxAgeMs) return known.value as Promise<T>;
    const fact = { at: this.clock.now(), value: onHost(this.host, ask) };
    this.#facts.set(key, fact);
    fact.value.catch(() => this.#facts.get(key) === fact && this.#facts.delete(key));
    return fact.value;
  }
}

async function readPool(session: HostSession): Promise<PoolFacts> {
  const client = await session.calls();
  const pool = await client.storagePoolLookupByName(session.host.pool);
  const document = parseXml(await client.storagePoolGetXMLDesc(pool));
  const type = document.documentElement?.getAttribute("type") ?? "";
  const directory = textAt(document, "target", "path");
  if (!FILE_POOLS.has(type) || directory === undefined) {
    throw new PermanentError({
      reason: "PoolUnsuitable",
      where: `host ${session.host.name}`,
      message: `the storage pool "${session.host.pool}" is of type "${type}"`,
      remedy: "Use a pool of type dir, fs or netfs: disks are files on a shared base image",
    });
  }
  if (!(await client.storagePoolIsActive(pool))) {
    throw new PermanentError({
      reason: "PoolInactive",
      where: `host ${session.host.name}`,
      message: `the storage pool "${session.host.pool}" is not active`,
      remedy: `Start it: \`virsh pool-start ${session.host.pool}\``,
    });
  }
  return { pool, directory };
}

async function readNetwork(session: HostSession): Promise<Network> {
  const client = await session.calls();
  const network = await client.networkLookupByName(session.host.network);
  if (await client.networkIsActive(network)) return network;
  throw new PermanentError({
    reason: "NetworkInactive",
    where: `host ${session.host.name}`,
    message: `the network "${session.host.network}" is not active`,
    remedy: `Start it: \`virsh net-start ${session.host.network}\``,
  });
}
