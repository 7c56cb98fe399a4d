import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import type { CloudInit } from "../config/cloud-init";

/** The contents of user-data files, by the path in the config. */
export type UserDataFiles = Readonly<Record<string, string>>;

/** Where user-data comes from that does not stand in the block itself. */
export interface UserDataSources {
  files: UserDataFiles;
  /** `egress:cloudInit`. */
  texts: Readonly<Record<string, string>>;
}

/** The user-data that a cloudInit block comes to. */
export function userDataOf(
  { inline, secretRef, file, squid }: CloudInit,
  proxy: { port: number; visibleHostname: string },
  { files, texts }: UserDataSources,
): string {
  if (inline !== undefined) return inline;
  if (squid !== undefined) return renderProxyCloudConfig({ ...proxy, ...squid });
  const content = secretRef === undefined ? files[file ?? ""] : texts[secretRef];
  // The program reads every file before it plans, and parseConfig looks every name up.
  if (content === undefined) throw new TypeError(`unchecked user-data ${secretRef ?? file}`);
  return content;
}
