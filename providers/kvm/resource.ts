import type { CustomResourceOptions, Input, Output } from "@pulumi/pulumi";
import type { Owner } from "../machine/owner";
import type { Firmware, ImageRef, KvmHost } from "../machine/spec";
import { PointerResource } from "../pulumi/resource";

export interface KvmMachineArgs {
  /** Whose it is and its name on the host. Replaces. */
  owner: Input<Owner>;
  /** The provider entry's name. Replaces. */
  entry: Input<string>;
  /** The host it runs on. Another name, pool, network or virtType replaces; how it is reached does not. */
  host: Input<KvmHost>;
  /** Its base image. Replaces. */
  image: Input<ImageRef>;
  /** Virtual CPUs. Replaces. */
  vcpus: Input<number>;
  /** Memory in MiB. Replaces. */
  memoryMiB: Input<number>;
  /** Size of the root disk in GiB; at least the image's virtual size. Replaces. */
  diskGiB: Input<number>;
  /** Replaces. */
  firmware: Input<Firmware>;
  /** cloud-init user-data, byte for byte, in any format; always kept as a secret. Replaces. */
  userData: Input<string>;
  /** The user's own vendor-data. Replaces. */
  vendorData?: Input<string>;
  /** cloud-init network-config. Replaces. */
  networkConfig?: Input<string>;
  /** Install qemu-guest-agent on first boot where it is missing. Replaces. */
  installGuestAgent: Input<boolean>;
  /** What `create` waits for: an `address`, or only that it `started`. */
  wait: Input<"address" | "started">;
  /** How long `create` waits for an address, in seconds. */
  bootTimeoutSeconds: Input<number>;
}

/** A virtual machine on a KVM host, reached through libvirt over SSH. */
export class KvmMachine extends PointerResource {
  static readonly __pulumiType = "pulumi-nodejs:dynamic/egress:KvmMachine";
  declare readonly uuid: Output<string>;
  declare readonly mac: Output<string>;
  /** The first routable IPv4 address; empty while none is known. */
  declare readonly ip: Output<string>;
  /** Changes whenever the machine was built or started by us. */
  declare readonly generation: Output<string>;

  constructor(name: string, args: KvmMachineArgs, options?: CustomResourceOptions) {
    super("kvm", "KvmMachine", name, { ...args }, ["uuid", "mac", "ip", "generation"], {
      ...options,
      // Names on a host are deterministic: the old machine has to go first.
      deleteBeforeReplace: true,
    });
  }
}
