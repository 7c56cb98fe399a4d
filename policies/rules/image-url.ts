import type { ResourceValidationPolicy } from "@pulumi/policy";
import { forMachines } from "../resources";
import { violation } from "../violation";

export interface ImageUrlOptions {
  /** Host names that may be asked without encryption, such as a mirror in your own network. Default: none. */
  insecureHosts?: readonly string[];
}

/** Images, and the checksum files that vouch for them, are not fetched over plain http. */
export function imageUrl({ insecureHosts = [] }: ImageUrlOptions = {}): ResourceValidationPolicy {
  return {
    name: "image-url",
    description: "Images and their checksums are not fetched without encryption.",
    configSchema: { properties: { insecureHosts: { type: "array", items: { type: "string" } } } },
    validateResource: forMachines(({ name, props, config, report }) => {
      const accepted = { insecureHosts, ...(config as ImageUrlOptions) }.insecureHosts;
      for (const key of ["url", "sha256"] as const) {
        const value = props.image[key];
        if (!/^http:\/\//i.test(value)) continue;
        if (URL.canParse(value) && accepted.includes(new URL(value).hostname)) continue;
        const problem = "is fetched without encryption";
        const remedy = "Use https://, file:// or a path, or name the host in insecureHosts.";
        report(violation({ resource: name, property: `image.${key}`, value, problem, remedy }));
      }
    }),
  };
}
