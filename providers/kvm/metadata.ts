import type { OwnerRecord } from "../machine/owner";
import { escapeXml, parseXml } from "./xml";

/** The namespace of our element in a domain's `<metadata>`. It never changes: it is how we find our own. */
export const METADATA_URI = "urn:egress-proxies:machine:1";

export function renderOwnerRecord(record: OwnerRecord): string {
  const attributes = {
    project: record.project,
    stack: record.stack,
    name: record.name,
    entry: record.entry,
    spec: record.specHash,
  };
  const text = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join("");
  return `<egress:machine xmlns:egress="${METADATA_URI}"${text}/>`;
}

/** The record in what virDomainGetMetadata returned, or undefined where it is not a whole one. */
export function parseOwnerRecord(xml: string): OwnerRecord | undefined {
  const element = parseXml(xml).documentElement;
  if (element?.localName !== "machine") return undefined;
  const read = (name: string) => element.getAttribute(name) || undefined;
  const [project, stack, name, entry, specHash] = ["project", "stack", "name", "entry", "spec"].map(read);
  if (!project || !stack || !name || !entry || !specHash) return undefined;
  return { project, stack, name, entry, specHash };
}
