import { z } from "zod";
import { chooseFrom } from "./nearest";
import { type Problem, problem } from "./problem";
import type { PathSegment } from "./property-path";
import { get, isMap } from "./raw";
import { knownKeys, mapOf, type Option, optionAt, otherVariant } from "./walk";

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
  record: "a map",
};

const CONTAINERS: ReadonlySet<string> = new Set(["array", "object", "record"]);

/** One issue of zod in the words of the config: path, value found, and what to do. */
export function explain(issue: z.core.$ZodIssue, schema: z.ZodType, raw: unknown): Problem[] {
  const path = issue.path.filter((segment): segment is PathSegment => typeof segment !== "symbol");
  const value = get(raw, ...path);
  const option = optionAt(schema, path, raw);
  const describe = option?.description ?? "See the config reference.";
  const show = mayShow(issue, option, value);
  const report = (message: string, remedy: string): Problem[] => [
    problem(path, message, remedy, show ? value : undefined),
  ];

  if (issue.code === "unrecognized_keys") {
    const known = option === undefined ? [] : knownKeys(option.schema, value);
    return issue.keys.map((key) => {
      const other = otherVariant(schema, path, raw, key);
      if (other === undefined)
        return problem([...path, key], "is not an option here", chooseFrom(key, known, "option"));
      const variant = `${other.discriminator}: ${other.tag}`;
      return problem(
        [...path, key],
        `is an option of ${variant} only`,
        `Take it out, or set ${variant}. Possible here: ${known.join(", ")}.`,
      );
    });
  }
  const form = issue.code === "invalid_union" && option !== undefined ? mapOf(option.schema) : undefined;
  if (form !== undefined && issue.code === "invalid_union" && isMap(value)) {
    const inside = issue.errors.find((issues) => !issues.some(ofItself)) ?? [];
    return inside.flatMap((nested) => explain({ ...nested, path: [...path, ...nested.path] }, schema, raw));
  }
  if (form !== undefined && value !== undefined) return report("must be a text or a map", describe);
  if (value === undefined) return report("is required", `Add it. ${describe}`);
  switch (issue.code) {
    case "invalid_type":
      return report(...wrongType(issue.expected, value, option));
    case "invalid_value":
      return report(
        "is none of the possible values",
        chooseFrom(String(value), issue.values.map(String), ""),
      );
    case "invalid_union":
      if (discriminators(issue).length === 0) return report(issue.message, describe);
      return report("is none of the possible values", chooseFrom(String(value), discriminators(issue), ""));
    case "too_small":
      return report(tooSmall(issue), `${range(option) ?? "Add what is missing."} ${describe}`);
    case "too_big":
      return report(`must be at most ${issue.maximum}`, `${range(option) ?? "Shorten it."} ${describe}`);
    default:
      return report(issue.message, `Correct it. ${describe}`);
  }
}

/** Whether the value itself has the wrong type, not something in it. */
function ofItself(issue: z.core.$ZodIssue): boolean {
  return issue.code === "invalid_type" && issue.path.length === 0;
}

/** A text where a map or a list belongs may be anything, a whole user-data too: it is not shown. */
function mayShow(issue: z.core.$ZodIssue, option: Option | undefined, value: unknown): boolean {
  if (option?.notes.secret || option?.notes.hidden) return false;
  return !(issue.code === "invalid_type" && CONTAINERS.has(issue.expected) && typeof value === "string");
}

function wrongType(expected: string, value: unknown, option: Option | undefined): [string, string] {
  const kind = KINDS[expected] ?? expected;
  const remedy = `${correction(kind, value)} ${option?.description ?? ""}`.trimEnd();
  const instead = CONTAINERS.has(expected) && typeof value === "string" ? ", not a text" : "";
  return [`must be ${kind}${instead}`, remedy];
}

function correction(kind: string, value: unknown): string {
  if (kind === "a text" && (typeof value === "number" || typeof value === "boolean"))
    return "Put it into quotes.";
  if (kind.endsWith("number") && typeof value === "string" && /^\d+$/.test(value))
    return "Take the quotes away.";
  return `Write ${kind}.`;
}

/** The range of a number, as a remedy. */
function range(option: Option | undefined): string | undefined {
  if (!(option?.schema instanceof z.ZodNumber)) return undefined;
  const { minValue, maxValue } = option.schema;
  const upTo = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER ? "" : ` to ${maxValue}`;
  return `Write a whole number from ${minValue}${upTo}.`;
}

function tooSmall({ origin, minimum }: z.core.$ZodIssueTooSmall): string {
  if (origin === "string") return "must not be empty";
  if (origin === "array") return `must have at least ${minimum} ${minimum === 1 ? "item" : "items"}`;
  return `must be at least ${minimum}`;
}

function discriminators(issue: z.core.$ZodIssueInvalidUnion): string[] {
  return "options" in issue && Array.isArray(issue.options)
    ? issue.options.filter((tag) => tag !== undefined).map(String)
    : [];
}
