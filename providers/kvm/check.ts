import { withoutCredentials } from "../images/location";
import { baseTitle } from "../images/naming";
import { identifierProblem } from "../machine/identifier";
import type { KvmMachineInputs } from "../machine/spec";
import { type CheckFailure, UNKNOWN } from "../pulumi/backend";
import type { BaseOf } from "./naming";

/** What can be refused before anything is touched, in preview already. */
export function checkMachine(
  olds: Partial<KvmMachineInputs> | undefined,
  news: KvmMachineInputs,
  baseOf: BaseOf,
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
  const conflict = imageConflict(olds, news, baseOf);
  if (conflict !== undefined) failures.push({ property: "image", reason: conflict });
  return failures;
}

/** A base stands for one content for ever: machines hang on its bytes. */
function imageConflict(
  olds: Partial<KvmMachineInputs> | undefined,
  news: KvmMachineInputs,
  baseOf: BaseOf,
): string | undefined {
  const [old, now] = [olds?.image, news.image];
  if (!old || !now || olds?.entry === undefined) return undefined;
  if (olds.host?.name !== news.host?.name || olds.host?.pool !== news.host?.pool) return undefined;
  const [before, base] = [baseOf({ entry: olds.entry, image: old }), baseOf(news)];
  if (before.key !== base.key || before.entry !== base.entry) return undefined;
  if ([now.url, now.sha256].includes(UNKNOWN)) return undefined;
  if (old.url === now.url && old.sha256 === now.sha256) return undefined;
  return (
    `${baseTitle(base)} stands for ${withoutCredentials(old.url)} (${withoutCredentials(old.sha256)}) and ` +
    `cannot become ${withoutCredentials(now.url)} (${withoutCredentials(now.sha256)}): ` +
    "give the new image a new key"
  );
}
