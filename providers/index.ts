import { createBackends } from "./backends";

export { ProxyCheck, type ProxyCheckArgs } from "./health/resource";
export { KvmMachine, type KvmMachineArgs } from "./kvm/resource";

/** What `pointer` in providers/pulumi points at; state of every age resolves through it. */
export const backends = createBackends();
