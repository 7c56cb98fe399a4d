import { StreamLengthError } from "./errors";
import { STREAM_PAYLOAD } from "./frame";
import type { RpcStream } from "./stream";

/** The most chunks of a source that are joined into one packet. */
const PACKET_PARTS = 64;

export interface UploadPlan {
  rpc: string;
  length?: bigint;
  signal?: AbortSignal;
  onProgress?: (bytes: number) => void;
}

/** Sends all of `source` in packets of full size, finishes the stream, and returns the number of bytes. */
export async function upload(
  stream: RpcStream,
  source: AsyncIterable<Uint8Array>,
  plan: UploadPlan,
): Promise<number> {
  const chunks = source[Symbol.asyncIterator]();
  const unlisten = interruptOnAbort(stream, plan.signal);
  let taken = 0n;
  let sent = 0;
  let packet: Uint8Array[] = [];
  let room = STREAM_PAYLOAD;
  const flush = async () => {
    await stream.write(packet);
    sent += STREAM_PAYLOAD - room;
    plan.onProgress?.(sent);
    packet = [];
    room = STREAM_PAYLOAD;
  };
  try {
    for (;;) {
      const next = await stream.wait(chunks.next());
      if (next.done === true) break;
      taken += BigInt(next.value.length);
      if (plan.length !== undefined && taken > plan.length) {
        throw new StreamLengthError(plan.rpc, plan.length, taken);
      }
      for (let rest = next.value; rest.length > 0; ) {
        const part = rest.subarray(0, room);
        packet.push(part);
        room -= part.length;
        rest = rest.subarray(part.length);
        if (room === 0 || packet.length === PACKET_PARTS) await flush();
      }
    }
    if (plan.length !== undefined && taken < plan.length) {
      throw new StreamLengthError(plan.rpc, plan.length, taken);
    }
    if (packet.length > 0) await flush();
    await stream.finish();
    return sent;
  } catch (error) {
    leave(chunks);
    await stream.abort();
    throw error;
  } finally {
    unlisten();
  }
}

/** The bytes of the stream. Leaving the loop before its end aborts the stream. */
export async function* download(stream: RpcStream, signal?: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const unlisten = interruptOnAbort(stream, signal);
  try {
    for (let chunk = await stream.read(); chunk !== undefined; chunk = await stream.read()) yield chunk;
    await stream.finish();
  } finally {
    unlisten();
    await stream.abort();
  }
}

function interruptOnAbort(stream: RpcStream, signal: AbortSignal | undefined): () => void {
  const interrupt = () => stream.interrupt(abortReason(signal));
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt);
  return () => signal?.removeEventListener("abort", interrupt);
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("the transfer was aborted", { cause: reason });
}

/**
 * Lets the source free what it holds. It is not awaited, since a source that
 * hangs in `next` never gets there, and what it may throw then says less than
 * the error that ended the upload.
 */
function leave(chunks: AsyncIterator<Uint8Array>): void {
  chunks.return?.().catch(() => undefined);
}
