import { identifierProblem } from "@egress-proxies/providers/machine/identifier";
import type { ReportViolation, ResourceValidationPolicy } from "@pulumi/policy";
import { forChecks, forMachines, POOL, PROXY } from "../resources";
import { violation } from "../violation";

/** Entries, hosts, image keys, pools, members and machines have names that every host takes as they are. */
export function identifiers(): ResourceValidationPolicy {
  return {
    name: "identifiers",
    description: "Names hold letters, digits, dots, underscores and hyphens, at most 63 characters.",
    validateResource: [
      forMachines(({ name, props, report }) => {
        const { entry, host, image, owner } = props;
        check(report, name, "entry", entry);
        check(report, name, "host.name", host.name);
        check(report, name, "image.key", image.key);
        check(report, name, "owner.name", owner.name);
      }),
      forChecks(({ name, props, report }) => check(report, name, "name", props.name)),
      ({ type, name }, report) => {
        if (type === POOL) check(report, name, "the pool's name", name);
        if (type === PROXY) check(report, name, "the proxy's name", name);
      },
    ],
  };
}

function check(report: ReportViolation, resource: string, property: string, value: string): void {
  const problem = identifierProblem(value);
  if (problem === undefined) return;
  report(violation({ resource, property, value, problem, remedy: "Choose another name." }));
}
