import { createBackends } from "./backends";

export { ProxyCheck, type ProxyCheckArgs } from "./health/resource";
export { KvmMachine, type KvmMachineArgs } from "./kvm/resource";
export { Kvm2Machine, type Kvm2MachineArgs } from "./kvm2/resource";

/** What `pointer` in providers/pulumi points at; state of every age resolves through it. */
export const backends = createBackends();
