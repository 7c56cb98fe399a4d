import { MAX_IDENTIFIER_LENGTH } from "@egress-proxies/providers/machine/identifier";
import { z } from "zod";

/** What people must know of an option beyond its description, default and range. */
export interface OptionNotes {
  unit?: string;
  /** A change makes a new machine. */
  replaces?: boolean;
  /** Never shown in messages; may stand in the config as `secure:`. */
  secret?: boolean;
  /** Never shown in messages, because people paste secrets here by mistake. */
  hidden?: boolean;
  /** What the keys of a map are: `pool`, `member`. */
  key?: string;
}

const notes = z.registry<OptionNotes>();

/** An option as people meet it: in the editor, in the reference, and in every message about it. */
export function option<S extends z.ZodType>(schema: S, description: string, about: OptionNotes = {}): S {
  const described = schema.describe(description);
  notes.add(described, { ...notes.get(schema), ...about });
  return described;
}

export function notesOf(schema: z.core.$ZodType): OptionNotes | undefined {
  return notes.get(schema);
}

/**
 * A map whose keys people choose. The keys are checked by the naming rules, not
 * by the map: a record that refuses a key does not look at the value any more,
 * and its mistakes would only show on the next run.
 */
export function named<S extends z.ZodType>(key: string, value: S): z.ZodRecord<z.ZodString, S> {
  const map = z.record(z.string(), value).meta({
    propertyNames: { pattern: "^[A-Za-z0-9._-]+$", maxLength: MAX_IDENTIFIER_LENGTH },
  });
  notes.add(map, { key });
  return map;
}
