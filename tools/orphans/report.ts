import { table } from "../fleet/table";
import type { Placed, Survey } from "./survey";

/** For people: what was found, largest harm first: what could not be looked at stands at the end. */
export function report({ orphans, skipped, failed }: Survey): string {
  const rows = orphans.map((orphan) => [
    orphan.host.name,
    orphan.kind,
    orphan.name,
    age(orphan.ageMs),
    size(orphan.bytes),
    orphan.keep === undefined ? orphan.reason : `${orphan.reason}; kept: ${orphan.keep}`,
  ]);
  return [
    orphans.length === 0
      ? "No orphans were found."
      : table(["HOST", "KIND", "NAME", "AGE", "SIZE", "REASON"], rows),
    ...skipped.map(
      ({ host, domain }) => `host ${host}: the domain "${domain}" cannot be read and was skipped`,
    ),
    ...failed.map(({ error }) => `not looked at: ${error.message}`),
  ].join("\n");
}

export function age(ms: number | undefined): string {
  if (ms === undefined) return "?";
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

export function size(bytes: number): string {
  const mib = bytes / 1024 ** 2;
  return mib < 1024 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** For programs. */
export function json({ orphans, skipped, failed }: Survey): string {
  const shown = ({ host, ...orphan }: Placed) => ({ host: host.name, ...orphan });
  return JSON.stringify(
    {
      orphans: orphans.map(shown),
      skipped,
      failed: failed.map(({ host, error }) => ({ host, message: error.message })),
    },
    null,
    2,
  );
}
