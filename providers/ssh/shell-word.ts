/** A word as a POSIX shell takes it, quoted only where it must be; a leading `~/` stays expandable. */
export function shellWord(text: string): string {
  return /^(~\/)?[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
