import { type Known, ownerKey } from "@egress-proxies/providers/kvm/orphans";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { z } from "zod";

const MACHINE = /^pulumi-nodejs:dynamic\/egress:\w*Machine$/;

const owner = z.object({ project: z.string(), stack: z.string(), name: z.string() });
const resource = z.object({
  type: z.string(),
  urn: z.string().default(""),
  inputs: z.record(z.string(), z.unknown()).default({}),
  outputs: z.record(z.string(), z.unknown()).default({}),
});
const exported = z.object({
  deployment: z.object({
    resources: z.array(resource).nullish(),
    pending_operations: z.array(z.object({ resource })).nullish(),
  }),
});
const image = z.object({ key: z.string() });

/**
 * What the exports of all stacks say of machines, creations under way included.
 *
 * @param exports stack name to what `pulumi stack export` printed
 * @throws PermanentError `StackUnreadable` where one says not whose a machine is: nothing can be proved then
 */
export function knownOf(exports: ReadonlyMap<string, string>, configuredImages: Iterable<string>): Known {
  const owners = new Set<string>();
  const images = new Set(configuredImages);
  for (const [stack, text] of exports) {
    const { deployment } = read(stack, text);
    const pending = (deployment.pending_operations ?? []).map((operation) => operation.resource);
    for (const { type, urn, inputs, outputs } of [...(deployment.resources ?? []), ...pending]) {
      if (!MACHINE.test(type)) continue;
      const whose = [outputs.owner, inputs.owner].map((value) => owner.safeParse(value));
      if (!whose.some(({ success }) => success)) throw unreadable(stack, `${urn} names no owner`);
      for (const { data } of whose) if (data !== undefined) owners.add(ownerKey(data));
      const spec = z.object({ image }).safeParse(outputs.spec).data;
      for (const ref of [spec?.image, image.safeParse(inputs.image).data]) {
        if (ref !== undefined) images.add(ref.key);
      }
    }
  }
  return { owners, images };
}

function read(stack: string, text: string): z.output<typeof exported> {
  try {
    return exported.parse(JSON.parse(text));
  } catch (cause) {
    throw unreadable(stack, "its export is not what Pulumi writes", cause);
  }
}

export function unreadable(stack: string, message: string, cause?: unknown): PermanentError {
  return new PermanentError({
    reason: "StackUnreadable",
    where: `stack ${stack}`,
    message,
    remedy:
      "Nothing is an orphan as long as one stack cannot be read: mend it, or remove it with `pulumi stack rm`",
    cause,
  });
}
