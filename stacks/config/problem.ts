import { type PropertyPath, propertyPath } from "./property-path";

/** One mistake in the config. */
export interface Problem {
  /** The property that is wrong, as Pulumi spells it: `egress:pools.crawl.placement.image`. */
  path: string;
  /** What is wrong, as a sentence without its final full stop. */
  message: string;
  /** The value found, shortened; absent where there is none or where it must not be shown. */
  found?: string;
  /** What to do about it, as a sentence. */
  remedy: string;
}

export function problem(path: PropertyPath, message: string, remedy: string, found?: unknown): Problem {
  const text = found === undefined ? undefined : shown(found);
  return { path: propertyPath(path), message, ...(text === undefined ? {} : { found: text }), remedy };
}

const LONGEST_SHOWN = 60;

/**
 * A value for people: short, on one line, and never the inside of a map or a
 * list. What looks like a pasted file or holds a URL's password is described only.
 */
export function shown(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return Object.keys(value).length === 0 ? "an empty map" : "a map";
  if (typeof value !== "string") return String(value);
  if (/[\r\n]/.test(value)) return "a text of several lines";
  if (/:\/\/[^/\s]*@/.test(value)) return "a URL with a user name or password";
  return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}...` : value);
}

/** All problems as people read them: path, message and value found on one line, the remedy below it. */
export function listing(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const lines = problems.map(({ path, message, found, remedy }) => {
    const value = found === undefined ? "" : ` (found ${found})`;
    return `  ${path}: ${message}${value}\n    ${remedy}`;
  });
  return [`The config has ${count}; nothing was changed:`, ...lines].join("\n");
}
