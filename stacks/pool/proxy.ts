// From the resources' own files: the package's index would load every backend, which the program never runs.
import { ProxyCheck } from "@egress-proxies/providers/health/resource";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import { KvmMachine, type KvmMachineArgs, type LibvirtMachine } from "@egress-proxies/providers/kvm/resource";
import { Kvm2Machine } from "@egress-proxies/providers/kvm2/resource";
import {
  all,
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResourceOptions,
  type Input,
  type Output,
  output,
  secret,
} from "@pulumi/pulumi";

const MACHINES = { kvm: KvmMachine, kvm2: Kvm2Machine };

/** What a proxy's machine is built from, by the kind of its backend. */
export type MachineArgs = { type: keyof typeof MACHINES } & KvmMachineArgs;

interface CommonArgs {
  /** The physical name, which stands in messages: `<stack>-<pool>-<member>`. */
  name: Input<string>;
  /** The pool's name. */
  pool: Input<string>;
  /** The provider entry's name; empty for external endpoints. */
  provider: Input<string>;
  /** The host's name; empty for external endpoints. */
  host: Input<string>;
  /** The port that the proxy listens on. */
  port: Input<number>;
  /** How many users may hold a lease at once; 0 means none. */
  maxLeases: Input<number>;
  labels: Input<Readonly<Record<string, Input<string>>>>;
  /** How the proxy shows that it works. Address and generation come from the machine. */
  check: CheckArgs;
}

export interface ManagedProxyArgs extends CommonArgs {
  mode: "Managed";
  /** The machine. Its user-data is made a secret whatever it was before. */
  machine: MachineArgs;
}

export interface ExternalProxyArgs extends CommonArgs {
  mode: "External";
  /** The host name or address of somebody else's proxy: it is checked and given out, nothing is made. */
  address: Input<string>;
}

export type ProxyArgs = ManagedProxyArgs | ExternalProxyArgs;

type CheckArgs = { [K in keyof Omit<ProxyCheckInputs, "host" | "generation">]: Input<ProxyCheckInputs[K]> };

/** What a crawler needs to know of one proxy. */
export interface Endpoint {
  name: string;
  pool: string;
  mode: "Managed" | "External";
  /** The provider entry; empty for external endpoints. */
  provider: string;
  /** The host's name in the config; empty for external endpoints. */
  host: string;
  /** `http://ip:port`; empty while no address is known. */
  url: string;
  /** The address; of external endpoints as the config says it, so it may be a name. */
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
  /** Done when the proxy answers: what depends on it waits for that. */
  readonly check: ProxyCheck;

  constructor(name: string, args: ProxyArgs, options?: ComponentResourceOptions) {
    super(EgressProxy.__pulumiType, name, {}, options);
    const { ip, generation } =
      args.mode === "Managed"
        ? // Children do not inherit what their component depends on.
          machineOf(`${name}-machine`, args.machine, { parent: this, ...dependencies(options) })
        : { ip: output(args.address), generation: "" };
    this.check = new ProxyCheck(`${name}-check`, { ...args.check, host: ip, generation }, { parent: this });
    this.endpoint = output({
      name: args.name,
      pool: args.pool,
      mode: args.mode,
      provider: args.provider,
      host: args.host,
      url: urlOf(ip, args.port),
      ip,
      port: args.port,
      maxLeases: args.maxLeases,
      labels: args.labels,
      ready: this.check.ready,
      reason: this.check.reason,
    });
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

function machineOf(name: string, machine: MachineArgs, options: CustomResourceOptions): LibvirtMachine {
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

function dependencies({ dependsOn }: ComponentResourceOptions = {}): CustomResourceOptions {
  return dependsOn === undefined ? {} : { dependsOn };
}

function urlOf(ip: Output<string>, port: Input<number>): Output<string> {
  return all([ip, port]).apply(([address, at]) => {
    if (address === "") return "";
    return `http://${address.includes(":") ? `[${address}]` : address}:${at}`;
  });
}
