import { z } from "zod";
import { notesOf, type OptionNotes } from "./option";
import type { PropertyPath } from "./property-path";
import { get } from "./raw";

/** What stands around a schema in the form of wrappers: notes, description, default. */
export interface Option {
  /** The schema without its wrappers. */
  schema: z.core.$ZodType;
  description: string | undefined;
  notes: OptionNotes;
  /** The default, where one is set; `undefined` also where the option is required. */
  fallback: unknown;
  required: boolean;
}

/** Takes the wrappers off a schema, outermost first; what is said further out wins. */
export function optionOf(schema: z.core.$ZodType): Option {
  const option: Option = { schema, description: undefined, notes: {}, fallback: undefined, required: true };
  for (;;) {
    const current = option.schema;
    option.description ??= z.globalRegistry.get(current)?.description;
    option.notes = { ...notesOf(current), ...option.notes };
    if (current instanceof z.ZodOptional || current instanceof z.ZodExactOptional) {
      option.required = false;
      option.schema = current.unwrap();
    } else if (current instanceof z.ZodDefault || current instanceof z.ZodPrefault) {
      option.required = false;
      option.fallback ??= current.def.defaultValue;
      option.schema = current.unwrap();
    } else if (current instanceof z.ZodNullable) {
      option.schema = current.unwrap();
    } else if (current instanceof z.ZodPipe) {
      option.schema = current.in;
    } else {
      return option;
    }
  }
}

/** The option at a path of a value, as far as the schema knows it. */
export function optionAt(schema: z.core.$ZodType, path: PropertyPath, value: unknown): Option | undefined {
  const [segment, ...rest] = path;
  const option = optionOf(schema);
  if (segment === undefined) return option;
  const child = childOf(option.schema, segment, value);
  if (child === undefined) return undefined;
  return optionAt(child, rest, get(value, segment));
}

/** The keys that a map of fixed keys may have at this place. */
export function knownKeys(schema: z.core.$ZodType): string[] {
  const map = schema instanceof z.ZodObject ? schema : mapOf(schema);
  return map === undefined ? [] : Object.keys(map.shape);
}

function childOf(
  schema: z.core.$ZodType,
  segment: string | number,
  value: unknown,
): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[segment];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodArray) return schema.element;
  const chosen = schema instanceof z.ZodDiscriminatedUnion ? variantOf(schema, value) : mapOf(schema);
  return chosen && childOf(chosen, segment, value);
}

/** The map among the possible forms of an option: a text or a map. */
export function mapOf(schema: z.core.$ZodType): z.ZodObject | undefined {
  if (!(schema instanceof z.ZodUnion) || schema instanceof z.ZodDiscriminatedUnion) return undefined;
  return schema.options.find((form) => form instanceof z.ZodObject);
}

/** The variant that a value's discriminator chooses; where it chooses none and there is but one, that one. */
export function variantOf(union: z.ZodDiscriminatedUnion, value: unknown): z.core.$ZodType | undefined {
  const wanted = get(value, union.def.discriminator);
  const chosen = union.options.find((variant) => {
    if (!(variant instanceof z.ZodObject)) return false;
    const tag: unknown = variant.shape[union.def.discriminator];
    return tag instanceof z.ZodLiteral && tag.values.has(wanted as z.core.util.Literal);
  });
  return chosen ?? (union.options.length === 1 ? union.options[0] : undefined);
}
