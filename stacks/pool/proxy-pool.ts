import { all, ComponentResource, type ComponentResourceOptions, type Output } from "@pulumi/pulumi";
import { EgressProxy, type Endpoint, type ProxyArgs } from "./proxy";

export interface ProxyPoolArgs {
  /** The members by name. A member that comes or goes touches no other. */
  members: Readonly<Record<string, ProxyArgs>>;
}

/** A pool of egress proxies. */
export class ProxyPool extends ComponentResource {
  static readonly __pulumiType = "egress:index:ProxyPool";
  readonly endpoints: Output<Endpoint[]>;

  constructor(name: string, args: ProxyPoolArgs, options?: ComponentResourceOptions) {
    super(ProxyPool.__pulumiType, name, {}, options);
    const proxies = Object.entries(args.members).map(
      ([member, proxy]) => new EgressProxy(`${name}-${member}`, proxy, { parent: this }),
    );
    this.endpoints = all(proxies.map(({ endpoint }) => endpoint));
    this.registerOutputs({ endpoints: this.endpoints });
  }
}
