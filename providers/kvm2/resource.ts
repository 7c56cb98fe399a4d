import type { CustomResourceOptions } from "@pulumi/pulumi";
import { type KvmMachineArgs, LibvirtMachine } from "../kvm/resource";

export type Kvm2MachineArgs = KvmMachineArgs;

/** As `KvmMachine`, on a base image that belongs to its provider entry alone. */
export class Kvm2Machine extends LibvirtMachine {
  static readonly __pulumiType = "pulumi-nodejs:dynamic/egress:Kvm2Machine";

  constructor(name: string, args: Kvm2MachineArgs, options?: CustomResourceOptions) {
    super("kvm2", name, args, options);
  }
}
