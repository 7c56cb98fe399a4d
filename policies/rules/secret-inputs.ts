import { type ResourceValidationPolicy, Secret } from "@pulumi/policy";
import { MACHINES } from "../resources";

const KEYS = ["userData", "vendorData", "networkConfig"];

/**
 * What a guest is set up with is kept as a secret, also by programs that forget to say so. Rules that
 * refuse are shown secrets and clear texts alike, so this one mends: a clear text is made a secret on its
 * way into the state, and Pulumi says so. Its level is `remediate` or `disabled`; no other does anything.
 */
export function secretInputs(): ResourceValidationPolicy {
  return {
    name: "secret-inputs",
    description: "User-data, vendor-data and network-config are kept as secrets.",
    enforcementLevel: "remediate",
    remediateResource: ({ type, props }) => {
      if (!MACHINES.includes(type)) return undefined;
      const clear = KEYS.filter((key) => {
        // Reading the property unwraps a secret; its descriptor does not.
        const value: unknown = Object.getOwnPropertyDescriptor(props, key)?.value;
        return value !== undefined && !(value instanceof Secret);
      });
      for (const key of clear) props[key] = new Secret(props[key]);
      return clear.length === 0 ? undefined : props;
    },
  };
}
