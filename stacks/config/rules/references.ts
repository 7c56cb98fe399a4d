import { DEFAULT_MACHINE_TYPES } from "../kvm";
import { chooseFrom } from "../nearest";
import { type Problem, problem } from "../problem";
import type { PropertyPath } from "../property-path";
import { entries, get, isMap, items, text } from "../raw";
import { cloudInits, isManaged, rawMembers, rawPlacement } from "./members";
import type { Rule } from "./rule";

/** What a pool names in its provider entry must be there. */
export const references: Rule = ({ providers, pools }) =>
  entries(isMap(providers) ? pools : {}).flatMap(([poolName, pool]) => {
    const path = ["pools", poolName];
    const provider = text(pool, "provider");
    if (provider === undefined) return [];
    const entry = get(providers, provider);
    if (entry === undefined) {
      const remedy = chooseFrom(
        provider,
        entries(providers).map(([name]) => name),
        "provider entry",
      );
      return [problem([...path, "provider"], "is not an entry of egress:providers", remedy, provider)];
    }
    const placements: [PropertyPath, unknown][] = [
      [[...path, "placement"], get(pool, "placement")],
      ...entries(get(pool, "members")).map(([member, own]): [PropertyPath, unknown] => [
        [...path, "members", member, "placement"],
        get(own, "placement"),
      ]),
    ];
    return placements.flatMap(([where, placement]) => lookUp(where, placement, provider, entry));
  });

function lookUp(path: PropertyPath, placement: unknown, provider: string, entry: unknown): Problem[] {
  const hosts = items(get(entry, "hosts"));
  const among = (key: string) => [...new Set(hosts.flatMap((host) => text(host, key) ?? []))];
  const keys = (key: string) => entries(get(entry, key)).map(([name]) => name);
  const known: Record<string, [string, string[]]> = {
    host: ["host", among("name")],
    zone: ["zone", among("zone")],
    image: ["image", keys("images")],
    machineType: [
      "machine type",
      [...new Set([...Object.keys(DEFAULT_MACHINE_TYPES), ...keys("machineTypes")])],
    ],
  };
  const problems = Object.entries(known).flatMap(([key, [kind, candidates]]) => {
    const wanted = text(placement, key);
    if (wanted === undefined || candidates.includes(wanted)) return [];
    const message = `the entry ${provider} has no such ${kind}`;
    return [problem([...path, key], message, chooseFrom(wanted, candidates, kind), wanted)];
  });
  return [...problems, ...hostOutsideZone(path, placement, hosts)];
}

function hostOutsideZone(path: PropertyPath, placement: unknown, hosts: unknown[]): Problem[] {
  const [host, zone] = [text(placement, "host"), text(placement, "zone")];
  const named = hosts.find((candidate) => text(candidate, "name") === host);
  if (host === undefined || zone === undefined || named === undefined || text(named, "zone") === zone)
    return [];
  const actual = text(named, "zone");
  const message = `the host ${host} is ${actual === undefined ? "in no zone" : `in zone ${actual}`}`;
  return [problem([...path, "zone"], message, "Name the host or the zone, not both.", zone)];
}

/** Every member needs an image, be it its own or the pool's. */
export const images: Rule = ({ pools }) =>
  entries(pools).flatMap(([poolName, pool]) => {
    if (!isManaged(pool)) return [];
    const lacking = rawMembers(poolName, pool).some(
      (member) => rawPlacement(pool, member).image === undefined,
    );
    if (!lacking) return [];
    return [
      problem(
        ["pools", poolName, "placement", "image"],
        "is required",
        "Add it, for the pool or for each member: an image key of the provider entry, or { url, sha256 }.",
      ),
    ];
  });

/** A `secretRef` names an entry of `egress:cloudInit`. */
export const secretRefs: Rule = ({ pools, cloudInit }) => {
  const names = entries(cloudInit).map(([name]) => name);
  return cloudInits(pools).flatMap(([path, block]) => {
    const wanted = text(block, "secretRef");
    if (wanted === undefined || names.includes(wanted)) return [];
    const remedy =
      names.length === 0
        ? "Add it: pulumi config set --secret --path egress:cloudInit.NAME."
        : chooseFrom(wanted, names, "user-data");
    return [problem([...path, "secretRef"], "is not an entry of egress:cloudInit", remedy, wanted)];
  });
};
