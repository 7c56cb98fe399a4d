import type { CallRecord } from "./types";

/** Runs `work` and tells `onCall` how it went. */
export async function recorded<T>(
  rpc: string,
  args: object,
  onCall: ((record: CallRecord) => void) | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const report = (error?: unknown) =>
    onCall?.({
      rpc,
      durationMs: performance.now() - start,
      identifiers: identifiersOf(args),
      ...(error !== undefined && { error: describe(error) }),
    });
  try {
    const result = await work();
    report();
    return result;
  } catch (error) {
    report(error);
    throw error;
  }
}

/** The arguments that say what a call is about; the others (XML, flags, commands) are left out. */
function identifiersOf(args: object): Record<string, string> {
  const { domain, pool, volume, network, name, uuid } = args as {
    domain?: { name: string };
    pool?: { name: string };
    volume?: { pool: string; name: string };
    network?: { name: string };
    name?: string;
    uuid?: string;
  };
  const identifiers = {
    domain: domain?.name,
    pool: pool?.name ?? volume?.pool,
    volume: volume?.name,
    network: network?.name,
    name,
    uuid,
  };
  const known = Object.entries(identifiers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(known);
}

function describe(error: unknown): { code?: number; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Error && "code" in error && typeof error.code === "number"
    ? { code: error.code, message }
    : { message };
}
