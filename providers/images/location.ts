import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { PermanentError } from "../machine/errors";

/** Where an image or a checksum file is. */
export type Location = { kind: "http"; url: URL } | { kind: "file"; path: string };

/** Reads `https://`, `http://`, `file://`, or a path; relative paths start at `root`. */
export function parseLocation(text: string, root: string): Location {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "file", path: resolve(root, text) };
  if (!URL.canParse(text)) throw unusable(text, "is no valid URL");
  const url = new URL(text);
  if (scheme === "http" || scheme === "https") return { kind: "http", url };
  if (scheme !== "file") throw unusable(text, `has the scheme ${scheme}`);
  if (url.host !== "") throw unusable(text, "names another machine");
  return { kind: "file", path: fileURLToPath(url) };
}

/** The name by which a checksum file lists what is there. */
export function fileNameOf(location: Location): string {
  if (location.kind === "file") return basename(location.path);
  const last = location.url.pathname.slice(location.url.pathname.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last; // a stray percent sign: the name as it is written
  }
}

/** A URL as it may be shown and recorded: without the user name and password it may carry. */
export function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
}

function unusable(text: string, problem: string): PermanentError {
  return new PermanentError({
    reason: "InvalidImageUrl",
    where: withoutCredentials(text),
    message: `the image's location ${problem}`,
    remedy: "Use https://, http://, file:/// or a path.",
  });
}
