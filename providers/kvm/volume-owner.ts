import { type Owner, volumeStem } from "../machine/owner";
import { overlayName, seedName } from "./names";

const VOLUME = /^(.+)-[0-9a-f]{10}(?:\.qcow2|-seed\.iso)$/;

/**
 * Whose disk or seed a volume is, proved by the digest in its name; undefined for
 * what is none of this project's. Stack names may hold hyphens, so each way to
 * read the stack out of the name is tried.
 */
export function volumeOwner(project: string, volume: string): Owner | undefined {
  const name = VOLUME.exec(volume)?.[1];
  if (name === undefined) return undefined;
  const parts = name.split("-");
  for (let length = 1; length < parts.length; length++) {
    const owner = { project, stack: parts.slice(0, length).join("-"), name };
    if (volume.startsWith(volumeStem(owner))) return owner;
  }
  return undefined;
}

/** The names of all the volumes that a machine has on its host. */
export function volumesOf(owner: Owner): string[] {
  return [overlayName(owner), seedName(owner)];
}
