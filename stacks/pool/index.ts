/** The components for programs of your own. */
export { EgressProxy as Proxy, type Endpoint, type MachineArgs, type ProxyArgs } from "./proxy";
export { ProxyPool, type ProxyPoolArgs } from "./proxy-pool";
