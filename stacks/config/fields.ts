import { z } from "zod";

/** Kinds of values that several options share. Each message completes the sentence "The value ...". */

export const port = z.int().min(1).max(65535);

/** A whole number of seconds, up to a day. */
export const seconds = z.int().min(1).max(86_400);

const CONTROL = /\p{Cc}/u;

/** Text that stands on one line: names of pools and networks, paths, users. */
export const line = z
  .string()
  .min(1)
  .refine((value) => !CONTROL.test(value), { error: "must be a single line without control characters" });

/** A path on this machine; relative ones start at the project's root. */
export const path = line;

export const environmentVariable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
  error: "must be the name of an environment variable, not its value",
});

/** Where a host is reached: nothing but a name or an address. */
export const address = z.string().regex(/^[^\s/@]+$/, {
  error: "must be a host name, an address or an alias of ssh_config, without user, scheme or path",
});

/** Where a proxy listens: a name or an address, without brackets. */
export const proxyHost = z.string().regex(/^[A-Za-z0-9._:-]+$/, {
  error: "must be a host name or an address, without scheme, brackets and port",
});

export const httpUrl = z.string().refine(isPlainHttpUrl, {
  error: "must be an http:// or https:// URL without user name and password",
});

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;

/** An http(s) or file URL, or a path. */
export const imageUrl = line.refine(isImageSource, {
  error: "must be an https://, http:// or file:// URL without user name and password, or a path",
});

const HEX_DIGITS = /^[0-9a-f]{32,}$/i;

export const imageDigest = line.refine(
  (value) => isImageSource(value) && (!HEX_DIGITS.test(value) || value.length === 64),
  { error: "must be a SHA-256 digest of 64 hex digits, or the URL or path of a checksum file" },
);

function isImageSource(value: string): boolean {
  const scheme = SCHEME.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined) return true;
  return scheme === "file" || isPlainHttpUrl(value);
}

function isPlainHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}
