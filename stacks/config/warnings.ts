import { httpPortsOf } from "@egress-proxies/providers/squid/http-ports";
import type { CloudInit } from "./cloud-init";
import { type PropertyPath, propertyPath } from "./property-path";
import type { Config } from "./schema";

export interface WarningContext {
  /** The contents of every `cloudInit.file`, by the path in the config. */
  files: Readonly<Record<string, string>>;
  /** The encrypted keys of the config; undefined where they are not known. */
  secretKeys: readonly string[] | undefined;
}

/** What is no mistake for certain, as lines for people: path, what is the matter, what to do. */
export function configWarnings(config: Config, { files, secretKeys }: WarningContext): string[] {
  return [...clearTexts(config, secretKeys), ...otherPorts(config, files)];
}

function clearTexts({ cloudInit }: Config, secretKeys: WarningContext["secretKeys"]): string[] {
  if (Object.keys(cloudInit).length === 0 || (secretKeys?.includes("egress:cloudInit") ?? true)) return [];
  return [
    "egress:cloudInit: stands in clear text in the stack's config file. " +
      "Encrypt each entry: pulumi config set --secret --path egress:cloudInit.NAME < user-data.yaml.",
  ];
}

/** A squid that listens on another port than the check and the crawlers ask for never answers. */
function otherPorts({ pools, cloudInit: texts }: Config, files: WarningContext["files"]): string[] {
  const found = Object.entries(pools).flatMap(([name, pool]) => {
    if (pool.mode === "External") return [];
    const path = ["pools", name];
    const members = Object.entries(pool.members ?? { all: {} });
    return members.flatMap(([member, { cloudInit, port = pool.port }]) => {
      const owner = cloudInit === undefined ? path : [...path, "members", member];
      const text = userTextOf(cloudInit ?? pool.cloudInit, texts, files);
      return text === undefined ? [] : portWarning([...owner, "cloudInit", text.source], text.content, port);
    });
  });
  return [...new Set(found)];
}

/** A user-data that people wrote themselves, and the option that names it. */
function userTextOf(
  { inline, secretRef, file }: Partial<CloudInit> = {},
  texts: Readonly<Record<string, string>>,
  files: WarningContext["files"],
): { source: string; content: string | undefined } | undefined {
  if (inline !== undefined) return { source: "inline", content: inline };
  if (secretRef !== undefined) return { source: "secretRef", content: texts[secretRef] };
  return file === undefined ? undefined : { source: "file", content: files[file] };
}

function portWarning(path: PropertyPath, content: string | undefined, port: number): string[] {
  const ports = httpPortsOf(content ?? "");
  if (ports.length === 0 || ports.includes(port)) return [];
  return [
    `${propertyPath(path)}: makes squid listen on ${ports.join(" and ")}, but the proxy's port is ${port}. ` +
      `Set port to ${ports[0]}, or http_port to ${port}.`,
  ];
}
