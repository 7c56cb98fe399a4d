import { type CustomResourceOptions, type Input, type Output, output } from "@pulumi/pulumi";
import type { Owner } from "../machine/owner";
import { packText } from "../machine/packed-text";
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

/** The kinds of machines on libvirt hosts, and their resources' types. */
const TYPES = { kvm: "KvmMachine", kvm2: "Kvm2Machine" } as const;

/** What machines on libvirt hosts have in common. */
export abstract class LibvirtMachine extends PointerResource {
  declare readonly uuid: Output<string>;
  declare readonly mac: Output<string>;
  /** The first routable IPv4 address; empty while none is known. */
  declare readonly ip: Output<string>;
  /** Changes whenever the machine was built or started by us. */
  declare readonly generation: Output<string>;

  protected constructor(
    kind: keyof typeof TYPES,
    name: string,
    args: KvmMachineArgs,
    options: CustomResourceOptions = {},
  ) {
    const others = Object.values(TYPES).filter((type) => type !== TYPES[kind]);
    super(
      kind,
      TYPES[kind],
      name,
      { ...args, userData: output(args.userData).apply(packText) },
      ["uuid", "mac", "ip", "generation"],
      {
        ...options,
        // Names on a host are deterministic: the old machine has to go first.
        deleteBeforeReplace: true,
        // The kinds differ only in the base that the next machine is built on. Without this an entry
        // whose `type` changes would adopt its machines under the new type, then delete them under the old.
        aliases: [
          ...(options.aliases ?? []),
          ...others.map((type) => ({ type: `pulumi-nodejs:dynamic/egress:${type}` })),
        ],
      },
    );
  }
}

/** A virtual machine on a KVM host, reached through libvirt over SSH; its base image is shared on the host. */
export class KvmMachine extends LibvirtMachine {
  static readonly __pulumiType = "pulumi-nodejs:dynamic/egress:KvmMachine";

  constructor(name: string, args: KvmMachineArgs, options?: CustomResourceOptions) {
    super("kvm", name, args, options);
  }
}
