import { ProxyCheck } from "@egress-proxies/providers/health/resource";
import type { ProxyCheckInputs } from "@egress-proxies/providers/health/spec";
import { KvmMachine } from "@egress-proxies/providers/kvm/resource";
import { Kvm2Machine } from "@egress-proxies/providers/kvm2/resource";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import type { PolicyResource, ReportViolation, ResourceValidation } from "@pulumi/policy";

/** The types that are machines; each backend adds its own. */
export const MACHINES: readonly string[] = [KvmMachine.__pulumiType, Kvm2Machine.__pulumiType];
export const CHECK = ProxyCheck.__pulumiType;
export const POOL = "egress:index:ProxyPool";
export const PROXY = "egress:index:Proxy";

/** What a rule is given of one resource, and how it reports: the name is the resource's in Pulumi. */
export interface Seen<Props> {
  name: string;
  props: Props;
  config: object;
  report: ReportViolation;
}

/**
 * Runs for every machine, on its inputs. Inputs that are not known during a preview raise the SDK's own
 * error where they are read; it then says that the rule could not run there.
 */
export function forMachines(validate: (seen: Seen<KvmMachineInputs>) => void): ResourceValidation {
  return (args, report) => {
    if (!MACHINES.includes(args.type)) return;
    validate({ name: args.name, props: args.props as KvmMachineInputs, config: args.getConfig(), report });
  };
}

/** Runs for every check, on its inputs. */
export function forChecks(validate: (seen: Seen<ProxyCheckInputs>) => void): ResourceValidation {
  return (args, report) => {
    if (args.type !== CHECK) return;
    validate({ name: args.name, props: args.props as ProxyCheckInputs, config: args.getConfig(), report });
  };
}

/** The pools of a stack by their components, each with its machines and all its proxies. */
export function poolsOf(
  resources: readonly PolicyResource[],
): { name: string; urn: string; machines: number; proxies: number }[] {
  const within = (pool: PolicyResource, type: (type: string) => boolean) =>
    resources.filter((resource) => type(resource.type) && ancestors(resource).includes(pool.urn)).length;
  return resources
    .filter(({ type }) => type === POOL)
    .map((pool) => ({
      name: pool.name,
      urn: pool.urn,
      machines: within(pool, (type) => MACHINES.includes(type)),
      proxies: within(pool, (type) => type === PROXY),
    }));
}

function ancestors({ parent }: PolicyResource): string[] {
  return parent === undefined ? [] : [parent.urn, ...ancestors(parent)];
}
