import { z } from "zod";
import { notesOf, type OptionNotes } from "./option";
import { configSchema } from "./schema";

type Json = z.core.JSONSchema.BaseSchema;

/** A value that `pulumi config set --secret --path` has encrypted. */
const ENCRYPTED: Json = {
  type: "object",
  properties: { secure: { type: "string" } },
  required: ["secure"],
  additionalProperties: false,
  description: "A value encrypted by `pulumi config set --secret --path`.",
};

/** A JSON Schema for editors, of a whole `Pulumi.<stack>.yaml`. */
export function stackFileSchema(): Json {
  const {
    $schema,
    properties = {},
    required = [],
  } = z.toJSONSchema(configSchema, { io: "input", override: annotate });
  return {
    ...($schema === undefined ? {} : { $schema }),
    title: "Stack config of egress-proxies",
    type: "object",
    properties: {
      config: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(properties).map(([key, schema]) => [`egress:${key}`, schema]),
        ),
        required: required.map((key) => `egress:${key}`),
        patternProperties: { [`^egress:(?!(${Object.keys(properties).join("|")})$)`]: false },
      },
    },
    required: ["config"],
  };
}

/** What an editor shows on hover, and that a secret may be encrypted. */
function annotate({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }): void {
  const notes = notesOf(zodSchema);
  if (notes === undefined) return;
  const sentences = [jsonSchema.description, ...noteSentences(notes)];
  jsonSchema.description = sentences.filter((sentence) => sentence !== undefined).join(" ");
  if (!notes.secret || jsonSchema.anyOf !== undefined) return;
  const { description, ...plain } = jsonSchema;
  for (const key of Object.keys(plain)) delete jsonSchema[key];
  jsonSchema.anyOf = [plain, ENCRYPTED];
}

export function noteSentences({ unit, replaces }: OptionNotes): string[] {
  return [
    ...(unit === undefined ? [] : [`Unit: ${unit}.`]),
    ...(replaces ? ["A change makes a new machine."] : []),
  ];
}
