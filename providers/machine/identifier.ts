/** Entry names, host names, image keys, machine types, pool and member names. */
const IDENTIFIER = /^[A-Za-z0-9._-]+$/;

/** The longest identifier: two of them and a stack name must fit into a file name. */
export const MAX_IDENTIFIER_LENGTH = 63;

/** What is wrong with an identifier, or undefined where it is fine. */
export function identifierProblem(value: string): string | undefined {
  if (value.length === 0) return "must not be empty";
  if (value.length > MAX_IDENTIFIER_LENGTH) return `must have at most ${MAX_IDENTIFIER_LENGTH} characters`;
  if (value === "." || value === "..") return "must not be . or ..";
  if (!IDENTIFIER.test(value)) return "may hold only letters, digits, dots, underscores and hyphens";
  return undefined;
}
