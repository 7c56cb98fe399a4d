import type { SshTarget } from "../machine/spec";
import { connectSsh, type SshConnection } from "./connection";

/** Calls and bulk bytes go over connections of their own, so that an upload does not delay a call. */
export type Purpose = "calls" | "bulk";

/** The right to use a shared connection, until it is released. */
export interface SshLease {
  readonly connection: SshConnection;
  /** May be called again without effect. */
  release(): void;
}

export interface PoolOptions {
  /** Milliseconds that a connection stays open with no lease. Default 3000. */
  idleMs?: number;
  connect?: (target: SshTarget) => Promise<SshConnection>;
}

interface Entry {
  dialled: Promise<SshConnection>;
  leases: number;
  idleTimer: NodeJS.Timeout | undefined;
}

/**
 * Connections shared by all who reach the same host in the same way. A connection
 * without a lease does not keep the process alive.
 */
export class SshPool {
  private readonly entries = new Map<string, Entry>();
  private readonly idleMs: number;
  private readonly connect: (target: SshTarget) => Promise<SshConnection>;

  constructor(options: PoolOptions = {}) {
    this.idleMs = options.idleMs ?? 3_000;
    this.connect = options.connect ?? ((target) => connectSsh(target));
  }

  /** Rejects as connectSsh does; a failed dial fails all who waited for it and is then forgotten. */
  async acquire(target: SshTarget, purpose: Purpose): Promise<SshLease> {
    const key = poolKey(target, purpose);
    for (;;) {
      const entry = this.entries.get(key) ?? this.dial(key, target);
      this.hold(entry);
      const connection = await entry.dialled;
      if (!connection.closed) {
        connection.ref();
        return this.lease(key, entry, connection);
      }
      this.drop(key, entry); // it broke between its use and now
    }
  }

  /** Closes every connection, leased ones too; later acquires dial anew. */
  async closeAll(): Promise<void> {
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(
      entries.map(async (entry) => {
        clearTimeout(entry.idleTimer);
        // A dial that fails has told those who wait for it; there is nothing to close.
        const connection = await entry.dialled.catch(() => undefined);
        connection?.ref(); // idle or not: the process lives until it is closed
        await connection?.close();
      }),
    );
  }

  private dial(key: string, target: SshTarget): Entry {
    const entry: Entry = { dialled: this.connect(target), leases: 0, idleTimer: undefined };
    this.entries.set(key, entry);
    entry.dialled.then(
      (connection) => connection.onClose(() => this.drop(key, entry)),
      () => this.drop(key, entry),
    );
    return entry;
  }

  private hold(entry: Entry): void {
    entry.leases++;
    clearTimeout(entry.idleTimer);
    entry.idleTimer = undefined;
  }

  private lease(key: string, entry: Entry, connection: SshConnection): SshLease {
    let released = false;
    return {
      connection,
      release: () => {
        if (released) return;
        released = true;
        entry.leases--;
        if (entry.leases > 0) return;
        connection.unref();
        if (connection.closed) return;
        entry.idleTimer = setTimeout(() => {
          this.drop(key, entry);
          void connection.close();
        }, this.idleMs).unref();
      },
    };
  }

  private drop(key: string, entry: Entry): void {
    clearTimeout(entry.idleTimer);
    if (this.entries.get(key) === entry) this.entries.delete(key);
  }
}

/** What makes two targets the same connection; the name is for messages only. */
function poolKey(target: SshTarget, purpose: Purpose): string {
  const { address, user, port, keyFile, passphraseEnv, knownHostsFile, configFile } = target;
  return JSON.stringify(
    [address, user, port, keyFile, passphraseEnv, knownHostsFile, configFile, purpose].map(
      (part) => part ?? null,
    ),
  );
}
