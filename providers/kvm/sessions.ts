import type { Clock } from "../machine/retry";
import type { KvmHost } from "../machine/spec";
import { type Dial, HostSession } from "./session";

/** How long a host's connections outlive their last user, in milliseconds: the next resource is mostly near. */
const IDLE_MS = 3_000;

interface Shared {
  session: HostSession;
  users: number;
  idle?: NodeJS.Timeout;
}

/** One session per host and way to reach it, shared by all resources of the process, closed when idle. */
export class HostSessions {
  readonly #shared = new Map<string, Shared>();

  constructor(
    private readonly dial: Dial,
    private readonly clock: Clock,
    private readonly idleMs = IDLE_MS,
  ) {}

  async use<T>(host: KvmHost, work: (session: HostSession) => Promise<T>): Promise<T> {
    const key = keyOf(host);
    const shared = this.#shared.get(key) ?? {
      session: new HostSession(host, this.dial, this.clock),
      users: 0,
    };
    this.#shared.set(key, shared);
    clearTimeout(shared.idle);
    shared.users += 1;
    try {
      return await work(shared.session);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) this.#closeWhenIdle(key, shared);
    }
  }

  async closeAll(): Promise<void> {
    const all = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(
      all.map(({ session, idle }) => {
        clearTimeout(idle);
        return session.close();
      }),
    );
  }

  #closeWhenIdle(key: string, shared: Shared): void {
    shared.idle = setTimeout(() => {
      this.#shared.delete(key);
      void shared.session.close();
    }, this.idleMs);
    // The process may end while a connection idles.
    shared.idle.unref();
  }
}

function keyOf(host: KvmHost): string {
  return JSON.stringify(Object.entries(host).sort(([a], [b]) => (a < b ? -1 : 1)));
}
