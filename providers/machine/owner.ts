import { createHash } from "node:crypto";

/** Who a machine belongs to. Project, stack and name are its identity and never change. */
export interface Owner {
  project: string;
  stack: string;
  /** The physical name: `<stack>-<pool>-<member>`. */
  name: string;
}

/** What a machine carries on its host as proof of whose it is and what it was built from. */
export interface OwnerRecord extends Owner {
  /** The provider entry that it was made through. */
  entry: string;
  /** The digest of everything whose change needs a new machine. */
  specHash: string;
}

export function sameOwner(a: Owner, b: Owner): boolean {
  return a.project === b.project && a.stack === b.stack && a.name === b.name;
}

export function physicalName(stack: string, pool: string, member: string): string {
  return `${stack}-${pool}-${member}`;
}

/** A UUID of version 8 (RFC 9562): SHA-256 over the identity, so that every run finds its machine again. */
export function machineUuid(owner: Owner): string {
  const bytes = identityDigest(owner).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** A MAC address under QEMU's 52:54:00, lower case; its last three bytes come from the identity. */
export function machineMac(owner: Owner): string {
  const tail = identityDigest(owner).subarray(16, 19).toString("hex");
  return `52:54:00:${tail.slice(0, 2)}:${tail.slice(2, 4)}:${tail.slice(4)}`;
}

/**
 * The stem of a machine's volume names. Volumes carry no metadata, so the name
 * itself says whose they are: ten hex digits of the identity make it ours alone,
 * even where another project uses the same stack and pool names on the host.
 */
export function volumeStem(owner: Owner): string {
  return `${owner.name}-${identityDigest(owner).subarray(19, 24).toString("hex")}`;
}

function identityDigest({ project, stack, name }: Owner): Buffer {
  return createHash("sha256")
    .update(JSON.stringify(["egress-proxies", project, stack, name]))
    .digest();
}
