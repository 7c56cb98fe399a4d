/** The kinds of test, in the order in which they run: the cheap ones first. Each is a folder under test/. */
export const KINDS = ["unit", "component", "integration", "e2e"] as const;
export type Kind = (typeof KINDS)[number];

/** The kinds that need a lab host, an image, Pulumi and the parsers. */
export const LAB_KINDS: readonly Kind[] = ["integration", "e2e"];

/** Which kinds the arguments ask for: all without arguments; a string that is no kind is the error. */
export function chosenKinds(args: string[]): { kinds: readonly Kind[] } | { unknown: string } {
  const unknown = args.find((argument) => !isKind(argument));
  if (unknown !== undefined) return { unknown };
  return { kinds: args.length === 0 ? KINDS : KINDS.filter((kind) => args.includes(kind)) };
}

function isKind(text: string): text is Kind {
  return (KINDS as readonly string[]).includes(text);
}
