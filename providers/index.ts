export { ProxyCheck, type ProxyCheckArgs } from "./health/resource";
export { KvmMachine, type KvmMachineArgs } from "./kvm/resource";
