import { createHash } from "node:crypto";
import { unpackText } from "./packed-text";
import type { MachineInputs } from "./spec";

/** What stands for a text in state: large texts and secrets are never repeated there. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Everything whose change needs a new machine, in plain small values, whatever the backend. */
export interface MachineSpec {
  entry: string;
  image: { key: string; url: string; sha256: string };
  vcpus: number;
  memoryMiB: number;
  diskGiB: number;
  firmware: string;
  userDataDigest: string;
  vendorDataDigest: string;
  networkConfigDigest: string;
  installGuestAgent: boolean;
}

export function machineSpec(inputs: MachineInputs): MachineSpec {
  return {
    entry: inputs.entry,
    image: { key: inputs.image.key, url: inputs.image.url, sha256: inputs.image.sha256 },
    vcpus: inputs.vcpus,
    memoryMiB: inputs.memoryMiB,
    diskGiB: inputs.diskGiB,
    firmware: inputs.firmware,
    userDataDigest: digest(unpackText(inputs.userData)),
    vendorDataDigest: digest(inputs.vendorData ?? ""),
    networkConfigDigest: digest(inputs.networkConfig ?? ""),
    installGuestAgent: inputs.installGuestAgent,
  };
}

/** The properties in which two specs differ, by the input's name. */
export function changedProperties(old: MachineSpec, now: MachineSpec): string[] {
  return (Object.keys(now) as (keyof MachineSpec)[])
    .filter((key) => canonical(old[key]) !== canonical(now[key]))
    .map((key) => key.replace(/Digest$/, ""));
}

/** The digest of a spec and of what the backend adds to it; independent of key order. */
export function specHash(spec: MachineSpec, more: Record<string, unknown> = {}): string {
  return digest(canonical({ ...spec, ...more }));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}
