import type { Policies } from "@pulumi/policy";
import { clearCredentials } from "./rules/clear-credentials";
import { identifiers } from "./rules/identifiers";
import { imageDigest } from "./rules/image-digest";
import { imageUrl } from "./rules/image-url";
import { openClients } from "./rules/open-clients";
import { poolSize } from "./rules/pool-size";
import { portMatch } from "./rules/port-match";
import { protectedPools } from "./rules/protected-pools";
import { secretInputs } from "./rules/secret-inputs";

export {
  clearCredentials,
  identifiers,
  imageDigest,
  imageUrl,
  openClients,
  poolSize,
  portMatch,
  protectedPools,
  secretInputs,
};

/** Every rule with its defaults, for a pack of your own to add to. */
export function rules(): Policies {
  return [
    identifiers(),
    portMatch(),
    imageDigest(),
    imageUrl(),
    openClients(),
    poolSize(),
    protectedPools(),
    secretInputs(),
    clearCredentials(),
  ];
}
