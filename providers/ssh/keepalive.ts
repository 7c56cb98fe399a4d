/** How a connection is probed. */
export interface Probe {
  /** Sends something that the peer answers; calls back when the answer, of any kind, is there. */
  send(answered: () => void): void;
  /** A number that grows while bytes arrive, which is as good as an answer; a constant where that is unknown. */
  received(): number;
  /** Called once, after `misses` intervals in a row without a sign of life. */
  dead(): void;
}

export interface KeepaliveOptions {
  /** Milliseconds between probes. Default 7500. */
  intervalMs?: number;
  /** Intervals without an answer until the peer counts as dead. Default 3: with the first probe, within 30 s. */
  misses?: number;
}

/**
 * Probes until stopped. Its timer does not keep the process alive, which is why ssh2's
 * own keepalive is not used: that timer would.
 */
export function startKeepalive(probe: Probe, options: KeepaliveOptions = {}): () => void {
  const { intervalMs = 7_500, misses = 3 } = options;
  let missed = 0;
  let waiting = false;
  let seen = probe.received();
  const timer = setInterval(() => {
    const now = probe.received();
    missed = now === seen && waiting ? missed + 1 : 0;
    seen = now;
    if (missed >= misses) {
      clearInterval(timer);
      probe.dead();
      return;
    }
    if (waiting) return;
    waiting = true;
    probe.send(() => {
      waiting = false;
    });
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
