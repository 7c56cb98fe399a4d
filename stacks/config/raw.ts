import type { PathSegment } from "./property-path";

/**
 * Views of config as it was written. The rules that look at several options at
 * once read it so, and not the parsed config: a mistake in one place must not
 * hide the mistakes in all others.
 */
export type RawMap = Readonly<Record<string, unknown>>;

export function isMap(value: unknown): value is RawMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function entries(value: unknown): [string, unknown][] {
  return isMap(value) ? Object.entries(value) : [];
}

export function items(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What stands at a path, or undefined. */
export function get(value: unknown, ...path: PathSegment[]): unknown {
  return path.reduce<unknown>((inner, segment) => {
    if (Array.isArray(inner)) return typeof segment === "number" ? inner[segment] : undefined;
    return isMap(inner) && Object.hasOwn(inner, segment) ? inner[segment] : undefined;
  }, value);
}

export function text(value: unknown, ...path: PathSegment[]): string | undefined {
  const found = get(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** A list of texts; empty where one of them is none. */
export function texts(value: unknown): string[] {
  const list = items(value);
  return list.every((item) => typeof item === "string") ? list : [];
}

export function count(value: unknown, ...path: PathSegment[]): number | undefined {
  const found = get(value, ...path);
  return typeof found === "number" && Number.isInteger(found) && found >= 0 ? found : undefined;
}
