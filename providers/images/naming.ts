import { PermanentError } from "../machine/errors";
import { identifierProblem } from "../machine/identifier";
import { TOKEN_PATTERN } from "./process-token";
import type { ImageFormat } from "./sniff";

/**
 * Whose base it is: `base-<key>` is shared by all entries of a host,
 * `base-<entry>-<key>` belongs to one. Since entry `a` with key `b-c` and entry
 * `a-b` with key `c` share a name, the marker records both.
 */
export interface BaseNaming {
  key: string;
  entry?: string | undefined;
}

/**
 * The volumes of a base: `<stem>.json` is the marker, `<stem>.<attempt>.<format>`
 * each attempt's data. An attempt is a process token and eight random hex digits.
 *
 * @throws PermanentError `InvalidName`
 */
export function baseStem({ key, entry }: BaseNaming): string {
  for (const [what, name] of Object.entries({ key, ...(entry === undefined ? {} : { entry }) })) {
    const problem = identifierProblem(name);
    if (problem === undefined) continue;
    throw new PermanentError({
      reason: "InvalidName",
      where: `base image ${JSON.stringify(name)}`,
      message: `its ${what} ${problem}`,
      remedy: "Choose another name.",
    });
  }
  return entry === undefined ? `base-${key}` : `base-${entry}-${key}`;
}

export function markerName(naming: BaseNaming): string {
  return `${baseStem(naming)}.json`;
}

export function attemptName(naming: BaseNaming, token: string, random: string, format: ImageFormat): string {
  return `${baseStem(naming)}.${token}-${random}.${format}`;
}

const ATTEMPT = new RegExp(`^\\.(${TOKEN_PATTERN})-[0-9a-f]{8}\\.(?:qcow2|raw)$`);

/** The process token in the name of one of this base's attempts; undefined for any other volume. */
export function attemptToken(naming: BaseNaming, volume: string): string | undefined {
  const stem = baseStem(naming);
  return volume.startsWith(stem) ? ATTEMPT.exec(volume.slice(stem.length))?.[1] : undefined;
}

/** For messages: `base "debian-12"`, `base "debian-12" of entry "kvm-eu"`. */
export function baseTitle({ key, entry }: BaseNaming): string {
  return entry === undefined ? `base "${key}"` : `base "${key}" of entry "${entry}"`;
}
