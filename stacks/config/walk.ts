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
export function knownKeys(schema: z.core.$ZodType, value: unknown): string[] {
  const chosen = schema instanceof z.ZodDiscriminatedUnion ? variantOf(schema, value) : schema;
  const map = chosen instanceof z.ZodObject ? chosen : chosen && mapOf(chosen);
  return map === undefined ? [] : Object.keys(map.shape);
}

/**
 * The other variant that a key belongs to: `mode`, `External` for the
 * `endpoint` of a member whose pool is of another mode.
 */
export function otherVariant(
  schema: z.core.$ZodType,
  path: PropertyPath,
  value: unknown,
  key: string,
): { discriminator: string; tag: string } | undefined {
  const { schema: bare } = optionOf(schema);
  if (bare instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = bare.def;
    const chosen = variantOf(bare, value);
    for (const variant of bare.options) {
      if (!(variant instanceof z.ZodObject) || variant === chosen) continue;
      const there = optionAt(variant, path, value);
      if (there !== undefined && knownKeys(there.schema, get(value, ...path)).includes(key)) {
        return { discriminator, tag: String(tagOf(variant, discriminator)?.value) };
      }
    }
  }
  const [segment, ...rest] = path;
  if (segment === undefined) return undefined;
  const child = childOf(bare, segment, value);
  return child && otherVariant(child, rest, get(value, segment), key);
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

/**
 * The variant that a value's discriminator chooses, or its default; where it
 * chooses none and there is but one, that one.
 */
export function variantOf(union: z.ZodDiscriminatedUnion, value: unknown): z.core.$ZodType | undefined {
  const wanted = get(value, union.def.discriminator);
  const chosen = union.options.find((variant) => {
    if (!(variant instanceof z.ZodObject)) return false;
    const tag = tagOf(variant, union.def.discriminator);
    return tag !== undefined && (wanted === undefined ? tag.isDefault : tag.value === wanted);
  });
  return chosen ?? (union.options.length === 1 ? union.options[0] : undefined);
}

/** The value of its discriminator that chooses a variant. */
function tagOf(
  variant: z.ZodObject,
  discriminator: string,
): { value: unknown; isDefault: boolean } | undefined {
  const { schema, fallback } = optionOf(variant.shape[discriminator]!);
  return schema instanceof z.ZodLiteral
    ? { value: schema.value, isDefault: fallback === schema.value }
    : undefined;
}
