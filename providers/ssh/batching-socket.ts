import { Socket } from "node:net";

/**
 * A TCP socket that hands the writes of one turn of the event loop to the kernel
 * together. ssh2 writes each packet in three pieces (length, body, tag); one system
 * call for eight packets instead of 24 is what makes an upload fast.
 */
export class BatchingSocket extends Socket {
  private batching = false;

  override write(data: Uint8Array | string, ...rest: never[]): boolean {
    if (!this.batching) {
      this.batching = true;
      this.cork();
      process.nextTick(() => {
        this.batching = false;
        this.uncork();
      });
    }
    return super.write(data, ...rest);
  }
}
