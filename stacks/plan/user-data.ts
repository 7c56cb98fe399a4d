import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import type { CloudInit } from "../config/cloud-init";

/** The contents of user-data files, by the path in the config. */
export type UserDataFiles = Readonly<Record<string, string>>;

/** The user-data that a cloudInit block comes to. */
export function userDataOf(
  { inline, file, squid }: CloudInit,
  proxy: { port: number; visibleHostname: string },
  files: UserDataFiles,
): string {
  if (inline !== undefined) return inline;
  if (squid !== undefined) return renderProxyCloudConfig({ ...proxy, ...squid });
  const content = file === undefined ? undefined : files[file];
  // The program reads every file before it plans.
  if (content === undefined) throw new TypeError(`unread cloudInit.file ${file}`);
  return content;
}
