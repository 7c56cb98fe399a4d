import { type Owner, volumeStem } from "../machine/owner";

/** The machine's root disk, an overlay on the base image. */
export function overlayName(owner: Owner): string {
  return `${volumeStem(owner)}.qcow2`;
}

/** The machine's NoCloud seed. */
export function seedName(owner: Owner): string {
  return `${volumeStem(owner)}-seed.iso`;
}
