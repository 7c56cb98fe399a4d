/** What the tokens of ssh_config stand for (TOKENS in ssh_config(5)); each option knows only some of them. */
export type Tokens = Readonly<Partial<Record<"d" | "h" | "k" | "n" | "p" | "r" | "u", string>>>;

/** Replaces `%x` and `%%`; throws a plain Error that names a token which the option does not know. */
export function expandTokens(text: string, tokens: Tokens): string {
  return text.replaceAll(/%(.?)/gs, (token, letter: string) => {
    if (letter === "%") return "%";
    const value = Object.hasOwn(tokens, letter) ? tokens[letter as keyof Tokens] : undefined;
    if (value === undefined) throw new Error(`the token ${token} has no meaning here`);
    return value;
  });
}

/** Replaces `${NAME}`, as ssh_config does for file names; throws a plain Error where the variable is unset. */
export function expandVariables(
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`the environment variable ${name} is not set`);
    return value;
  });
}

/** Replaces a leading `~` or `~/`; `~user` stays as it is. */
export function expandTilde(path: string, homeDirectory: string): string {
  return path === "~" || path.startsWith("~/") ? `${homeDirectory}${path.slice(1)}` : path;
}
