export const USAGE = `usage: npm run images -- list
       npm run images -- prune [--dry-run] [--limit GIB]

list    shows the images in this machine's cache, the one used last first
prune   takes away those used longest ago until the rest keeps to the limit
        (default 20 GiB, 0 for all), never one that a run has open`;

export type ImagesCommand = { action: "list" } | { action: "prune"; dryRun: boolean; limitGiB?: number };

/** Undefined where the arguments are not understood. */
export function parseArguments([action, ...rest]: readonly string[]): ImagesCommand | undefined {
  if (action === "list") return rest.length === 0 ? { action } : undefined;
  if (action !== "prune") return undefined;
  const command: Extract<ImagesCommand, { action: "prune" }> = { action, dryRun: false };
  while (rest.length > 0) {
    const option = rest.shift();
    if (option === "--dry-run") command.dryRun = true;
    else if (option === "--limit" && /^\d+(\.\d+)?$/.test(rest[0] ?? ""))
      command.limitGiB = Number(rest.shift());
    else return undefined;
  }
  return command;
}
