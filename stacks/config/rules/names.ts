import { identifierProblem } from "@egress-proxies/providers/machine/identifier";
import { physicalName } from "@egress-proxies/providers/machine/owner";
import { type Problem, problem } from "../problem";
import { type PropertyPath, propertyPath } from "../property-path";
import { entries, get, items, text } from "../raw";
import { rawMembers } from "./members";
import type { Rule } from "./rule";

/** A physical name is a domain's name and a host name's label: RFC 1035 section 2.3.4. */
export const MAX_PHYSICAL_NAME_LENGTH = 63;

/** Whether a physical name is one that the rules of this file accept. */
export function nameFits(name: string): boolean {
  return name.length <= MAX_PHYSICAL_NAME_LENGTH && identifierProblem(name) === undefined;
}

/** Every name that a person chooses is an identifier. */
export const identifiers: Rule = ({ providers, pools, cloudInit }) => {
  const chosen: [PropertyPath, string][] = [];
  const keysOf = (path: PropertyPath, value: unknown) => {
    for (const [key] of entries(value)) chosen.push([[...path, key], key]);
  };
  keysOf(["providers"], providers);
  for (const [name, entry] of entries(providers)) {
    items(get(entry, "hosts")).forEach((host, index) => {
      for (const key of ["name", "zone"]) {
        const value = text(host, key);
        if (value !== undefined) chosen.push([["providers", name, "hosts", index, key], value]);
      }
    });
    keysOf(["providers", name, "images"], get(entry, "images"));
    keysOf(["providers", name, "machineTypes"], get(entry, "machineTypes"));
  }
  keysOf(["cloudInit"], cloudInit);
  keysOf(["pools"], pools);
  for (const [name, pool] of entries(pools)) keysOf(["pools", name, "members"], get(pool, "members"));

  return chosen.flatMap(([path, name]) => {
    const wrong = identifierProblem(name) ?? (name === "__proto__" ? "is reserved by JavaScript" : undefined);
    return wrong === undefined ? [] : [problem(path, `the name ${wrong}`, "Choose another name.", name)];
  });
};

export const hostNames: Rule = ({ providers }) =>
  entries(providers).flatMap(([entryName, entry]) => {
    const hosts = items(get(entry, "hosts")).map((host) => text(host, "name"));
    return hosts.flatMap((name, index) => {
      const first = hosts.indexOf(name);
      if (name === undefined || first === index) return [];
      const path = ["providers", entryName, "hosts", index, "name"];
      return [problem(path, `is the name of hosts[${first}] too`, "Give each host its own name.", name)];
    });
  });

/** Physical names must fit, and no two members may come to the same one. */
export const physicalNames: Rule = ({ pools }, { stack }) => {
  const problems: Problem[] = [];
  const taken = new Map<string, string>();
  for (const [poolName, pool] of entries(pools)) {
    const tooLong: { path: PropertyPath; name: string }[] = [];
    for (const { name: member, path } of rawMembers(poolName, pool)) {
      const name = physicalName(stack, poolName, member);
      const first = taken.get(name);
      if (first === undefined) taken.set(name, `pool ${poolName}, member ${member}`);
      else {
        const message = `member ${member} would be called ${name}, like ${first}`;
        problems.push(problem(path, message, "Rename one of the pools or members."));
      }
      if (name.length > MAX_PHYSICAL_NAME_LENGTH) tooLong.push({ path, name });
    }
    const seen = new Set<string>();
    for (const { path, name } of tooLong) {
      const place = propertyPath(path);
      if (seen.has(place)) continue;
      seen.add(place);
      const message = `the machine's name would have ${name.length} characters: ${name}`;
      const remedy = `Shorten stack, pool or member: together at most ${MAX_PHYSICAL_NAME_LENGTH}.`;
      problems.push(problem(path, message, remedy));
    }
  }
  return problems;
};
