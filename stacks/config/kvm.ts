import { z } from "zod";
import { address, environmentVariable, imageDigest, imageUrl, line, path, port } from "./fields";
import { named, option } from "./option";

export const kvmHost = z.strictObject({
  name: option(
    z.string(),
    "The host's name in this config: placements name it, and it stands in every message.",
    { replaces: true },
  ),
  address: option(address, "A host name, an address, or an alias of `~/.ssh/config`."),
  user: option(
    line,
    "The SSH user. Without it: `User` of ssh_config, else the current user.",
  ).exactOptional(),
  port: option(port, "The SSH port. Without it: `Port` of ssh_config, else 22.").exactOptional(),
  keyFile: option(
    path,
    "The path of a private key. Without it: `IdentityFile` of ssh_config, else the agent, else the usual " +
      "files. Only the path is kept; the key is read when a connection is opened.",
  ).exactOptional(),
  passphraseEnv: option(
    environmentVariable,
    "The name of the environment variable that holds the key's passphrase.",
    { hidden: true },
  ).exactOptional(),
  knownHostsFile: option(
    path,
    "The known_hosts file. Without it: `UserKnownHostsFile` of ssh_config, else `~/.ssh/known_hosts` and " +
      "`/etc/ssh/ssh_known_hosts`.",
  ).exactOptional(),
  configFile: option(path, "The ssh_config file. Without it: `~/.ssh/config`.").exactOptional(),
  socket: option(
    path,
    "libvirt's socket on the host. Without it: the known places, in order.",
  ).exactOptional(),
  pool: option(line, "The storage pool for base images, disks and seeds.", { replaces: true }).default(
    "default",
  ),
  network: option(line, "The libvirt network that machines join.", { replaces: true }).default("default"),
  virtType: option(
    z.enum(["kvm", "qemu"]),
    "Hardware virtualization (`kvm`) or emulation (`qemu`). Without it: `kvm` where the host offers it, " +
      "else `qemu`.",
    { replaces: true },
  ).exactOptional(),
  zone: option(
    z.string(),
    "The zone that the host is in: a rack, a site, an uplink. Placements choose by it.",
  ).exactOptional(),
  maxMachines: option(
    z.int().min(0),
    "At most this many of the stack's machines are placed here. Without it: no limit.",
  ).exactOptional(),
});

export const image = z.strictObject({
  url: option(
    imageUrl,
    "Where the image comes from: `https://`, `http://`, `file://`, or a path (relative ones from the " +
      "project's root).",
    { replaces: true },
  ),
  sha256: option(
    imageDigest,
    "The image's SHA-256 digest in 64 hex digits, or the URL or path of a checksum file (`SHA256SUMS`) that " +
      "lists the image's file name.",
    { replaces: true },
  ),
});

const firmware = z.enum(["uefi", "bios"]);

/** An image that a placement gives itself instead of naming one of the entry's. */
export const directImage = image.extend({
  firmware: option(firmware, "What boots a machine of this image. Without it: what the machine type says.", {
    replaces: true,
  }).exactOptional(),
});

export type DirectImage = z.output<typeof directImage>;

export const machineType = z.strictObject({
  vcpus: option(z.int().min(1).max(512), "Virtual CPUs.", { replaces: true }),
  memoryMiB: option(z.int().min(64), "Memory.", { unit: "MiB", replaces: true }),
  diskGiB: option(z.int().min(1), "Size of the root disk; at least the image's virtual size.", {
    unit: "GiB",
    replaces: true,
  }),
  firmware: option(firmware, "What boots the machine.", { replaces: true }).default("uefi"),
});

export type KvmHostConfig = z.output<typeof kvmHost>;
export type MachineType = z.output<typeof machineType>;

/** The machine types that every entry has without naming them; an entry may say what `small` means there. */
export const DEFAULT_MACHINE_TYPES: Readonly<Record<string, MachineType>> = {
  small: { vcpus: 1, memoryMiB: 512, diskGiB: 8, firmware: "uefi" },
};

const kvmOptions = {
  hosts: option(z.array(kvmHost).min(1), "The hosts that machines are spread over."),
  images: option(
    named("key", image),
    "The base images that placements name. The key is the base's name on the hosts.",
  ).default({}),
  machineTypes: option(
    named("name", machineType),
    "The sizes that placements name. `small` always exists; here it can be given other figures.",
  ).default({}),
};

export const kvmEntry = z.strictObject({
  type: option(
    z.literal("kvm"),
    "KVM hosts, reached through libvirt over SSH. A base image is shared by all `kvm` entries and stacks that " +
      "use a host.",
  ),
  ...kvmOptions,
});

export const kvm2Entry = z.strictObject({
  type: option(
    z.literal("kvm2"),
    "As `kvm`, with base images of the entry's own: entries on one host may use one key for different images.",
  ),
  ...kvmOptions,
});
