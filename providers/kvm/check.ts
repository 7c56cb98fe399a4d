import { identifierProblem } from "../machine/identifier";
import type { KvmMachineInputs } from "../machine/spec";
import { type CheckFailure, UNKNOWN } from "../pulumi/backend";

/** What can be refused before anything is touched, in preview already. */
export function checkMachine(
  olds: Partial<KvmMachineInputs> | undefined,
  news: KvmMachineInputs,
): CheckFailure[] {
  const failures: CheckFailure[] = [];
  const named: [string, string | undefined][] = [
    ["entry", news.entry],
    ["host.name", news.host?.name],
    ["image.key", news.image?.key],
    ["owner.name", news.owner?.name],
  ];
  for (const [property, value] of named) {
    if (value === undefined || value === UNKNOWN) continue;
    const problem = identifierProblem(value);
    if (problem !== undefined) failures.push({ property, reason: `"${value}" ${problem}` });
  }
  for (const property of ["vcpus", "memoryMiB", "diskGiB", "bootTimeoutSeconds"] as const) {
    const value: unknown = news[property];
    if (value === UNKNOWN || (Number.isInteger(value) && Number(value) > 0)) continue;
    failures.push({ property, reason: `${JSON.stringify(value)} must be a whole number above 0` });
  }
  const conflict = imageConflict(olds, news);
  if (conflict !== undefined) failures.push({ property: "image", reason: conflict });
  return failures;
}

/** A key names one content for ever: machines hang on its bytes. */
function imageConflict(
  olds: Partial<KvmMachineInputs> | undefined,
  news: KvmMachineInputs,
): string | undefined {
  const [old, now] = [olds?.image, news.image];
  if (!old || !now || old.key !== now.key || olds?.host?.name !== news.host?.name) return undefined;
  if ([now.url, now.sha256].includes(UNKNOWN)) return undefined;
  if (old.url === now.url && old.sha256 === now.sha256) return undefined;
  return (
    `the key "${now.key}" stands for ${old.url} (${old.sha256}) and cannot become ` +
    `${now.url} (${now.sha256}): give the new image a new key`
  );
}
