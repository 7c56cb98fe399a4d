import type { ReportViolation, ResourceValidationPolicy } from "@pulumi/policy";
import { forChecks, forMachines } from "../resources";
import { violation } from "../violation";

const PATTERNS: readonly [RegExp, string, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "holds a private key", "Give the path of its file instead."],
  [/:\/\/[^/\s]*:[^/\s]*@/, "holds a password", "Take it out of the URL; what needs none is not secret."],
];

/** What is kept in clear text holds no credentials: addresses, paths, image and check URLs. */
export function clearCredentials(): ResourceValidationPolicy {
  return {
    name: "clear-credentials",
    description: "No credentials stand in what is kept in clear text.",
    validateResource: [
      forMachines(({ name, props: { host, image }, report }) => {
        look(report, name, "host", host);
        look(report, name, "image", image);
      }),
      forChecks(({ name, props: { target }, report }) => look(report, name, "target", target)),
    ],
  };
}

function look(report: ReportViolation, resource: string, of: string, values: object): void {
  for (const [key, value] of Object.entries(values)) {
    for (const [pattern, problem, remedy] of PATTERNS) {
      if (typeof value !== "string" || !pattern.test(value)) continue;
      report(violation({ resource, property: `${of}.${key}`, problem, remedy }));
    }
  }
}
