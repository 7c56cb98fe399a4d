import { all, ComponentResource, type ComponentResourceOptions, type Output } from "@pulumi/pulumi";
import { rollingOrder } from "../plan/rolling";
import { EgressProxy, type Endpoint, type ProxyArgs } from "./proxy";

export interface ProxyPoolArgs {
  /** The members by name. A member that comes or goes touches no other. */
  members: Readonly<Record<string, ProxyArgs>>;
  /**
   * How many of the standing members a change may rebuild at once; the next ones
   * wait until the checks of those before them pass. Default: 1.
   */
  maxUnavailable?: number;
  /**
   * The members whose machines were there before this run: only those are
   * changed in turn, since a new pool is built at once. Default: none.
   */
  standing?: readonly string[];
}

/** How a pool is. */
export interface PoolStatus {
  name: string;
  size: number;
  /** How many members answered at their last check. */
  ready: number;
  /** How many members a change leaves alone at any moment: the size without what may be rebuilt at once. */
  minReady: number;
}

/** A pool of egress proxies. */
export class ProxyPool extends ComponentResource {
  static readonly __pulumiType = "egress:index:ProxyPool";
  readonly endpoints: Output<Endpoint[]>;
  readonly status: Output<PoolStatus>;

  constructor(name: string, args: ProxyPoolArgs, options?: ComponentResourceOptions) {
    super(ProxyPool.__pulumiType, name, {}, options);
    const { members, maxUnavailable = 1, standing = [] } = args;
    const names = Object.keys(members);
    const order = rollingOrder(names, new Set(standing), Math.max(1, maxUnavailable));
    const proxies = new Map<string, EgressProxy>();
    for (const [member, proxy] of Object.entries(members)) {
      const dependsOn = (order.get(member) ?? []).flatMap((before) => proxies.get(before)?.check ?? []);
      proxies.set(member, new EgressProxy(`${name}-${member}`, proxy, { parent: this, dependsOn }));
    }
    this.endpoints = all([...proxies.values()].map(({ endpoint }) => endpoint));
    this.status = this.endpoints.apply((endpoints) => ({
      name,
      size: names.length,
      ready: endpoints.filter(({ ready }) => ready).length,
      minReady: Math.max(0, names.length - maxUnavailable),
    }));
    this.registerOutputs({ endpoints: this.endpoints, status: this.status });
  }
}
