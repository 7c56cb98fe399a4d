/**
 * The path of the first value that is not JSON, or undefined. The SDK refuses
 * such values only after `create` has succeeded, which would orphan the machine.
 */
export function nonJsonPath(value: unknown, path = "outputs"): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : path;
    case "object":
      break;
    default:
      return path;
  }
  if (value === null) return undefined;
  if (Array.isArray(value)) return firstOf(value.map((item, i) => [`${path}[${i}]`, item]));
  if (Object.getPrototypeOf(value) !== Object.prototype) return path;
  return firstOf(Object.entries(value).map(([key, item]) => [`${path}.${key}`, item]));
}

function firstOf(entries: [string, unknown][]): string | undefined {
  for (const [path, value] of entries) {
    const found = nonJsonPath(value, path);
    if (found !== undefined) return found;
  }
  return undefined;
}
