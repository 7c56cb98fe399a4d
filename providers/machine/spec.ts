import type { Owner } from "./owner";

/** How to reach a host over SSH. Paths, never key material: it is read when a connection is opened. */
export interface SshTarget {
  /** The host's name in the config; it stands in every message. */
  name: string;
  /** A host name, an address, or an alias of `~/.ssh/config`. */
  address: string;
  /** Default: `User` of ssh_config, else the current user. */
  user?: string;
  /** Default: `Port` of ssh_config, else 22. */
  port?: number;
  /** A private key's path. Default: `IdentityFile` of ssh_config, else the agent, else the usual files. */
  keyFile?: string;
  /** The name of the environment variable that holds the key's passphrase. */
  passphraseEnv?: string;
  /** Default: `UserKnownHostsFile` of ssh_config, else `~/.ssh/known_hosts` and `/etc/ssh/ssh_known_hosts`. */
  knownHostsFile?: string;
  /** Default: `~/.ssh/config`. */
  configFile?: string;
}

/** A KVM host: how to reach it and what to use there. */
export interface KvmHost extends SshTarget {
  /** libvirt's socket on the host. Default: the known places, in order. */
  socket?: string;
  /** The storage pool for base images, disks and seeds. */
  pool: string;
  /** The libvirt network that machines join. */
  network: string;
  /** Default: `kvm` where the host's capabilities offer it, else `qemu`. */
  virtType?: "kvm" | "qemu";
}

/** A base image: where it comes from and what its bytes must be. */
export interface ImageRef {
  /** The name of the base on a host. */
  key: string;
  /** `https://`, `http://`, `file://`, or a path (relative ones from the project's root). */
  url: string;
  /** 64 hex digits, or the URL or path of a checksum file (`SHA256SUMS`) that lists the image's file name. */
  sha256: string;
}

export type Firmware = "uefi" | "bios";

/** What the user sets of a virtual machine. A change of anything but `wait`, `bootTimeoutSeconds` and how `host` is reached makes a new machine. */
export interface MachineInputs {
  owner: Owner;
  /** The provider entry's name. */
  entry: string;
  image: ImageRef;
  vcpus: number;
  memoryMiB: number;
  diskGiB: number;
  firmware: Firmware;
  /** cloud-init user-data, byte for byte, in any format; as it is, or packed (packed-text). */
  userData: string;
  /** The user's own vendor-data; the guest agent's script is joined to it. */
  vendorData?: string;
  /** cloud-init network-config, version 1 or 2. */
  networkConfig?: string;
  installGuestAgent: boolean;
  /** `address`: ready once an address is known; `started`: as soon as it runs. */
  wait: "address" | "started";
  bootTimeoutSeconds: number;
}

export interface KvmMachineInputs extends MachineInputs {
  host: KvmHost;
}

/** What a machine's state holds besides what identifies it. */
export interface MachineOutputs {
  uuid: string;
  mac: string;
  /** The first routable IPv4 address; empty while none is known. */
  ip: string;
  /** Changes whenever the machine was built or started by us, so that dependents look again. */
  generation: string;
}
