import { runtime } from "@pulumi/pulumi";
import { z } from "zod";
import type { Placements } from "./plan/placement";

/** A machine as the last deployment left it. */
export interface PreviousMachine {
  /** The host's name. */
  host: string;
  /** The provider entry's name. */
  entry: string;
}

/** What the last deployment left, by physical name. */
export interface Previous {
  machines: ReadonlyMap<string, PreviousMachine>;
  /** The external endpoints, which have a check and no machine. */
  external: ReadonlySet<string>;
}

export const NOTHING_BEFORE: Previous = { machines: new Map(), external: new Set() };

export function placementsOf({ machines }: Previous): Placements {
  return Object.fromEntries([...machines].map(([name, { host }]) => [name, host]));
}

const machine = z.object({
  owner: z.object({ name: z.string() }),
  host: z.object({ name: z.string() }),
  spec: z.object({ entry: z.string() }),
});
/** A check without a machine's generation: see `ProxyCheckInputs.generation`. */
const externalCheck = z.object({ name: z.string(), generation: z.literal(""), target: z.object({}) });
const resources = z.record(z.string(), z.object({ outputs: z.unknown() }));

/** What the resources of a stack say: which machines stand where, and which endpoints are external. */
export function previousOf(outputsByUrn: unknown): Previous {
  const all = Object.values(resources.parse(outputsByUrn)).map(({ outputs }) => outputs);
  const read = <T>(schema: z.ZodType<T>) => all.flatMap((outputs) => schema.safeParse(outputs).data ?? []);
  return {
    machines: new Map(
      read(machine).map(({ owner, host, spec }) => [owner.name, { host: host.name, entry: spec.entry }]),
    ),
    external: new Set(read(externalCheck).map(({ name }) => name)),
  };
}

const answer = z.object({ outputs: z.unknown() });

/**
 * Asks the engine for the stack's own resources as they were before this run:
 * what a StackReference does with a stack's exports, but without leaving a
 * resource behind, also right after a run that failed half-way, and with an
 * error that the program can go on from. Empty for a new stack.
 *
 * @throws the engine's error where the state cannot be read
 */
export async function readPrevious(organization: string, project: string, stack: string): Promise<Previous> {
  const stackName = `${organization}/${project}/${stack}`;
  const found: unknown = await runtime.invoke("pulumi:pulumi:readStackResourceOutputs", { stackName });
  return previousOf(answer.parse(found).outputs ?? {});
}
