import type { ImageRef, KvmHost, MachineInputs } from "@egress-proxies/providers/machine/spec";
import { DEFAULT_MACHINE_TYPES, type DirectImage, type KvmHostConfig } from "../config/kvm";
import type { ProviderEntry } from "../config/provider";
import { directImage } from "./image";
import type { PlannedMachine } from "./planned";

/** What a machine is apart from where it runs and what it is built from. */
export type MachineBase = Omit<MachineInputs, "image" | "vcpus" | "memoryMiB" | "diskGiB" | "firmware">;

export function kvmMachine(
  entry: ProviderEntry,
  chosen: { host: string; image: string | DirectImage; machineType: string },
  base: MachineBase,
): PlannedMachine {
  const { image } = chosen;
  return {
    type: entry.type,
    ...base,
    host: kvmHost(
      found(
        entry.hosts.find(({ name }) => name === chosen.host),
        "host",
        chosen.host,
      ),
    ),
    image: imageRef(entry, image),
    ...found(
      { ...DEFAULT_MACHINE_TYPES, ...entry.machineTypes }[chosen.machineType],
      "machine type",
      chosen.machineType,
    ),
    ...(typeof image === "string" || image.firmware === undefined ? {} : { firmware: image.firmware }),
  };
}

function imageRef({ images }: ProviderEntry, image: string | DirectImage): ImageRef {
  return typeof image === "string"
    ? { key: image, ...found(images[image], "image", image) }
    : directImage(image);
}

/** A host without what only the plan uses. */
function kvmHost({ zone, maxMachines, ...host }: KvmHostConfig): KvmHost {
  return host;
}

/** parseConfig checks every reference; a miss here is a mistake in the code. */
function found<T>(value: T | undefined, kind: string, name: string): T {
  if (value === undefined) throw new TypeError(`unchecked ${kind} ${name}`);
  return value;
}
