import type { Writable } from "node:stream";
import { encodeHeader, type Header } from "./frame";

/**
 * How many bytes may wait in the transport before a stream has to wait itself.
 * Writable's own `drain` comes only once the transport is empty, which would
 * let the pipe run dry between two packets; four packets keep it full.
 */
export const OUTBOX_BYTES = 1_048_576;

/** Writes frames to the transport and knows how much of them it has not taken yet. */
export class Outbox {
  #outstanding = 0;
  #waiting: (() => void)[] = [];

  constructor(private readonly transport: Writable) {}

  /**
   * Header and payload go out together where the transport has writev, and are
   * not copied. `onTaken` hears when the transport has taken the whole message.
   */
  send(header: Header, payload: readonly Uint8Array[], onTaken?: () => void): void {
    const payloadSize = payload.reduce((sum, part) => sum + part.length, 0);
    const head = encodeHeader(header, payloadSize);
    const parts = [head, ...payload];
    const size = head.length + payloadSize;
    this.#outstanding += size;
    this.transport.cork();
    const taken = () => {
      this.#taken(size);
      onTaken?.();
    };
    parts.forEach((part, at) => {
      this.transport.write(part, at === parts.length - 1 ? taken : undefined);
    });
    this.transport.uncork();
  }

  /** Resolves, in the order of asking, once there is room for another packet. */
  room(): Promise<void> {
    if (this.#outstanding < OUTBOX_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #taken(size: number): void {
    this.#outstanding -= size;
    while (this.#outstanding < OUTBOX_BYTES && this.#waiting.length > 0) this.#waiting.shift()!();
  }
}
