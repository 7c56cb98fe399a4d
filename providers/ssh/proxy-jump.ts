/** A host as ProxyJump names it. */
export interface JumpSpec {
  host: string;
  user: string | undefined;
  port: number | undefined;
}

/**
 * `ProxyJump` of ssh_config(5): hosts divided by commas, each `[user@]host[:port]` or
 * `ssh://[user@]host[:port]`, IPv6 addresses in brackets. Throws a plain Error.
 */
export function parseProxyJump(text: string): JumpSpec[] {
  return text.split(",").map((part) => parseJump(part.trim()));
}

function parseJump(text: string): JumpSpec {
  const rest = text.replace(/^ssh:\/\//i, "").replace(/\/$/, "");
  const at = rest.lastIndexOf("@"); // a user name may hold an @ of its own
  const user = at < 0 ? undefined : rest.slice(0, at);
  const place = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(rest.slice(at + 1));
  // An IPv6 address without brackets has no port.
  const host =
    place?.[1] ??
    place?.[2] ??
    (/^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.%a-z]*$/i.test(rest.slice(at + 1)) ? rest.slice(at + 1) : undefined);
  const port = place?.[3] === undefined ? undefined : Number(place[3]);
  if (host === undefined || user === "" || (port !== undefined && (port < 1 || port > 65535))) {
    throw new Error(`"${text}" is not [user@]host[:port]`);
  }
  return { host, user, port };
}
