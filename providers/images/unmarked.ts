import { PermanentError } from "../machine/errors";
import { listUnpublished } from "./debris";
import { type BaseNaming, baseTitle } from "./naming";
import { type PublishHost, shownHost } from "./publish-host";
import { findReferences } from "./references";

/**
 * A data volume that no valid marker vouches for is debris, unless something
 * hangs on it: then the base was whole once and its marker was lost, and a new
 * base under the same key would let machines of one key run on different bytes.
 *
 * @throws PermanentError `BaseUnmarked`
 */
export async function refuseUnmarkedInUse(host: PublishHost, naming: BaseNaming): Promise<void> {
  const unmarked = async () => (await listUnpublished(host, naming)).map(({ volume }) => volume.name);
  const suspects = await unmarked();
  if (suspects.length === 0) return;
  const references = await findReferences(await host.calls(), suspects);
  const inUse = (name: string) => (references.get(name) ?? []).length > 0;
  if (!suspects.some(inUse)) return;
  // Looked at again: what another publisher has made the base meanwhile may be in use already.
  const name = (await unmarked()).find(inUse);
  if (name === undefined) return;
  throw new PermanentError({
    reason: "BaseUnmarked",
    where: shownHost(host),
    message:
      `volume ${name} of ${baseTitle(naming)} has no valid marker, ` +
      `and it is in use by ${references.get(name)?.join(", ")}`,
    remedy: "Give the image a new key, or remove what uses the volume and run again.",
  });
}
