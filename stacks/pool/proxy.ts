// From the resources' own files: the package's index would load every backend, which the program never runs.
import { ProxyCheck } from "@egress-proxies/providers/health/resource";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import { KvmMachine, type KvmMachineArgs, type LibvirtMachine } from "@egress-proxies/providers/kvm/resource";
import { Kvm2Machine } from "@egress-proxies/providers/kvm2/resource";
import {
  ComponentResource,
  type ComponentResourceOptions,
  type Input,
  interpolate,
  type Output,
  output,
  secret,
} from "@pulumi/pulumi";

const MACHINES = { kvm: KvmMachine, kvm2: Kvm2Machine };

/** What a proxy's machine is built from, by the kind of its backend. */
export type MachineArgs = { type: keyof typeof MACHINES } & KvmMachineArgs;

export interface ProxyArgs {
  /** The physical name, which stands in messages: `<stack>-<pool>-<member>`. */
  name: Input<string>;
  /** The pool's name. */
  pool: Input<string>;
  /** The provider entry's name. */
  provider: Input<string>;
  /** The host's name. */
  host: Input<string>;
  /** The port that the proxy listens on. */
  port: Input<number>;
  /** How many users may hold a lease at once; 0 means none. */
  maxLeases: Input<number>;
  labels: Input<Readonly<Record<string, Input<string>>>>;
  /** The machine. Its user-data is made a secret whatever it was before. */
  machine: MachineArgs;
  /** How the proxy shows that it works. Address and generation come from the machine. */
  check: CheckArgs;
}

type CheckArgs = { [K in keyof Omit<ProxyCheckInputs, "host" | "generation">]: Input<ProxyCheckInputs[K]> };

/** What a crawler needs to know of one proxy. */
export interface Endpoint {
  name: string;
  pool: string;
  provider: string;
  /** The host's name in the config. */
  host: string;
  /** `http://ip:port`; empty while no address is known. */
  url: string;
  ip: string;
  port: number;
  maxLeases: number;
  labels: Readonly<Record<string, string>>;
  ready: boolean;
  /** `Ready`, or the first stage of the check that failed. */
  reason: string;
}

/** One egress proxy: a machine, and the check that it answers through itself. */
export class EgressProxy extends ComponentResource {
  static readonly __pulumiType = "egress:index:Proxy";
  readonly endpoint: Output<Endpoint>;

  constructor(name: string, args: ProxyArgs, options?: ComponentResourceOptions) {
    super(EgressProxy.__pulumiType, name, {}, options);
    const machine = machineOf(`${name}-machine`, args.machine, { parent: this });
    const check = new ProxyCheck(
      `${name}-check`,
      { ...args.check, host: machine.ip, generation: machine.generation },
      { parent: this },
    );
    const { ip } = machine;
    this.endpoint = output({
      name: args.name,
      pool: args.pool,
      provider: args.provider,
      host: args.host,
      url: urlOf(ip, args.port),
      ip,
      port: args.port,
      maxLeases: args.maxLeases,
      labels: args.labels,
      ready: check.ready,
      reason: check.reason,
    });
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

function machineOf(name: string, machine: MachineArgs, options: { parent: EgressProxy }): LibvirtMachine {
  const { type, userData, vendorData, networkConfig, ...args } = machine;
  return new MACHINES[type](
    name,
    {
      ...args,
      userData: secret(userData),
      ...(vendorData === undefined ? {} : { vendorData: secret(vendorData) }),
      ...(networkConfig === undefined ? {} : { networkConfig: secret(networkConfig) }),
    },
    options,
  );
}

function urlOf(ip: Output<string>, port: Input<number>): Output<string> {
  const url = interpolate`http://${ip}:${port}`;
  return ip.apply((address) => (address === "" ? output("") : url));
}
