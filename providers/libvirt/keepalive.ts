/** virKeepAliveProcedure. */
export const KeepaliveProcedure = { PING: 1, PONG: 2 } as const;

export interface KeepaliveOptions {
  /** Milliseconds of silence after which the daemon is pinged. */
  intervalMs: number;
  /** Milliseconds of silence after which it counts as dead; asked anew each time. */
  limitMs: () => number;
  ping: () => void;
  dead: () => void;
}

/**
 * Notices a daemon, or a network, that no longer answers. Silence is counted in
 * ticks and not read from a clock: after a pause of this process (a busy event
 * loop, a laptop's sleep) one tick comes, not many.
 */
export class Keepalive {
  #silentTicks = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: KeepaliveOptions) {
    this.#timer = setInterval(() => this.#tick(), options.intervalMs);
    this.#timer.unref();
  }

  heard(): void {
    this.#silentTicks = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#silentTicks++;
    const { intervalMs, limitMs, ping, dead } = this.options;
    if (this.#silentTicks * intervalMs >= limitMs()) dead();
    else ping();
  }
}
