import type { ResourceValidationPolicy } from "@pulumi/policy";
import { forMachines } from "../resources";
import { violation } from "../violation";

export interface ImageDigestOptions {
  /** Which checksum files may stand for a digest: `none`, `local` ones, or `any`, also by URL. Default: `local`. */
  checksumFiles?: "none" | "local" | "any";
}

const REMEDY = {
  none: "Give the digest itself: 64 hex digits.",
  local: "Give the digest itself, 64 hex digits, or the path of a checksum file that you keep.",
  any: "Give the digest itself, 64 hex digits, or a checksum file.",
};

/** What is booted is what was chosen: a checksum file at a URL may say something else tomorrow. */
export function imageDigest({ checksumFiles = "local" }: ImageDigestOptions = {}): ResourceValidationPolicy {
  return {
    name: "image-digest",
    description: "Images are pinned by a SHA-256 digest.",
    configSchema: { properties: { checksumFiles: { enum: Object.keys(REMEDY) } } },
    validateResource: forMachines(({ name, props, config, report }) => {
      const accepted = { checksumFiles, ...(config as ImageDigestOptions) }.checksumFiles;
      const value = props.image.sha256;
      if (/^[0-9a-f]{64}$/i.test(value)) return;
      const remote = /^(?!file:)[a-z][a-z0-9+.-]*:\/\//i.test(value);
      if (value !== "" && (accepted === "any" || (accepted === "local" && !remote))) return;
      const problem = "does not pin the image";
      report(
        violation({ resource: name, property: "image.sha256", value, problem, remedy: REMEDY[accepted] }),
      );
    }),
  };
}
