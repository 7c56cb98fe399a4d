import type { CallRecord } from "./types";

/** Runs `work` and tells `onCall` how it went. */
export async function recorded<T>(
  rpc: string,
  args: object,
  onCall: ((record: CallRecord) => void) | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const report = (outcome: Pick<CallRecord, "result" | "error">, result?: unknown) => {
    if (onCall === undefined) return;
    const xml = xmlOf(args, result);
    onCall({
      rpc,
      durationMs: performance.now() - start,
      identifiers: identifiersOf(args),
      ...outcome,
      ...(xml !== undefined && { xml }),
    });
  };
  let result: T;
  try {
    result = await work();
  } catch (error) {
    report({ error: describe(error) });
    throw error;
  }
  report({ result: summaryOf(result) }, result);
  return result;
}

/** Texts that are short and harmless; of any other only the length is told. */
const SHOWN_TEXTS = new Set(["name", "uuid", "hostname", "path"]);

/** A result without what is large or nobody's business. An upload's result is its bytes. */
function summaryOf(result: unknown): Record<string, unknown> {
  if (typeof result === "number") return { bytes: result };
  // A stream is an instance of a class: nothing of it has come yet.
  if (typeof result !== "object" || result === null || Object.getPrototypeOf(result) !== Object.prototype)
    return {};
  return Object.fromEntries(
    Object.entries(result).flatMap(([key, value]): [string, unknown][] => {
      if (Array.isArray(value)) return [[key, value.length]];
      if (typeof value === "bigint") return [[key, Number(value)]];
      if (typeof value === "string")
        return [SHOWN_TEXTS.has(key) ? [key, value] : [`${key}Length`, value.length]];
      if (typeof value === "object" && value !== null) return [[key, "name" in value ? value.name : {}]];
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

/** XML by what it is called: `xml` in both directions, `metadata` of a domain. */
function xmlOf(args: object, result: unknown): CallRecord["xml"] {
  const sent = xmlIn(args);
  const received = xmlIn(result);
  if (sent === undefined && received === undefined) return undefined;
  return { ...(sent !== undefined && { sent }), ...(received !== undefined && { received }) };
}

function xmlIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { xml, metadata } = value as { xml?: unknown; metadata?: unknown };
  return [xml, metadata].find((text) => typeof text === "string");
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
