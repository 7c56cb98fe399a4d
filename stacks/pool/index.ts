/** The components for programs of your own. */
export {
  EgressProxy as Proxy,
  type Endpoint,
  type ExternalProxyArgs,
  type MachineArgs,
  type ManagedProxyArgs,
  type ProxyArgs,
} from "./proxy";
export { type PoolStatus, ProxyPool, type ProxyPoolArgs } from "./proxy-pool";
