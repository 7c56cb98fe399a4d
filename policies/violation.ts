const LONGEST_SHOWN = 80;

/**
 * One violation as a person reads it: resource, value, what is wrong, what to do. Only values that are no
 * secrets may be given: policies see everything in the clear.
 */
export function violation(fault: {
  resource: string;
  property: string;
  /** Left out where it must not be shown. */
  value?: unknown;
  problem: string;
  remedy: string;
}): string {
  const value = fault.value === undefined ? "" : ` ${shown(fault.value)}`;
  return `${fault.resource}: ${fault.property}${value} ${fault.problem}. ${fault.remedy}`;
}

/** A value on one line, shortened; a URL's user name and password are left out. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value.replace(/:\/\/[^/\s]*@/g, "://***@") : value;
  const json = JSON.stringify(text) ?? String(text);
  return json.length > LONGEST_SHOWN ? `${json.slice(0, LONGEST_SHOWN)}...` : json;
}
