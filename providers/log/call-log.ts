import { type CallRecord, ErrorCode } from "../libvirt";
import type { Logger } from "./logger";

const NAMES = new Map<number, string>(
  Object.entries(ErrorCode).map(([name, code]) => [code, `VIR_ERR_${name}`]),
);

/** What a log line says of a finished call, apart from its XML. */
export function callLine(host: string, record: CallRecord): Record<string, unknown> {
  const { rpc, identifiers, durationMs, result, error } = record;
  const code = error?.code;
  return {
    rpc,
    host,
    ...identifiers,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error: error.message }),
    ...(code === undefined ? {} : { libvirtError: NAMES.get(code) ?? `VIR_ERR ${code}`, libvirtCode: code }),
  };
}

/** A listener that writes one line per call, its XML only at trace; undefined where there is no log. */
export function callLog(log: Logger | undefined): ((host: string, record: CallRecord) => void) | undefined {
  if (log === undefined) return undefined;
  return (host, record) => {
    if (!log.isLevelEnabled("debug")) return;
    const line = callLine(host, record);
    if (log.isLevelEnabled("trace") && record.xml !== undefined) log.trace({ ...line, ...record.xml });
    else log.debug(line);
  };
}
