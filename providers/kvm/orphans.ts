import type { Marker } from "../images/marker";
import { TOKEN_PATTERN } from "../images/process-token";
import { machineUuid, type Owner } from "../machine/owner";
import type { Inventory, SeenVolume } from "./inventory";
import { seedName } from "./names";
import { volumeOwner, volumesOf } from "./volume-owner";

export type OrphanKind = "machine" | "volume" | "base" | "debris";

/** Something on a host that no stack knows. */
export interface Orphan {
  kind: OrphanKind;
  name: string;
  /** Of machines, disks and seeds. */
  owner?: Owner;
  /** What goes with it, in the order in which it is deleted (a machine's domain comes last). */
  volumes: { pool: string; name: string }[];
  /** Bytes on the host's disk. */
  bytes: number;
  /** Milliseconds since it was written last; undefined where nobody knows. */
  ageMs?: number;
  /** Why it counts as an orphan. */
  reason: string;
  /** Why it is not deleted all the same; undefined where it may be. */
  keep?: string;
}

/** What all the stacks of the project in a backend know. */
export interface Known {
  /** `ownerKey` of every machine, those included whose creation is under way. */
  owners: ReadonlySet<string>;
  /** The keys of images that a machine of a stack hangs on, or that the config names. */
  images: ReadonlySet<string>;
}

export interface SelectOptions {
  project: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** What is younger, in milliseconds, is kept; 0 keeps nothing for its age. */
  graceMs: number;
  /** Base images carry no owner: they go only where that is asked for. */
  bases: boolean;
}

export function ownerKey({ project, stack, name }: Owner): string {
  return JSON.stringify([project, stack, name]);
}

const ATTEMPT = new RegExp(`^base-.+\\.${TOKEN_PATTERN}-[0-9a-f]{8}\\.(?:qcow2|raw)$`);

/**
 * What of a host's inventory is ours and in no stack. Pure. Whose something is
 * must be proved: by the owner record and the UUID that belongs to it, by the
 * digest in a volume's name, or by a marker. What is not so proved is never
 * selected, and an owner that any stack knows is never touched, wherever it lies.
 */
export function selectOrphans(inventory: Inventory, known: Known, options: SelectOptions): Orphan[] {
  const machines = orphanMachines(inventory, known, options);
  const taken = new Set(inventory.domains.flatMap(({ record }) => (record ? [ownerKey(record)] : [])));
  const found = [
    ...machines,
    ...orphanVolumes(inventory, known, taken, options),
    ...orphanBases(inventory, known, options),
    ...debris(inventory, options),
  ];
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function orphanMachines(inventory: Inventory, known: Known, options: SelectOptions): Orphan[] {
  return inventory.domains.flatMap(({ record, name, uuid }) => {
    if (record === undefined || record.project !== options.project || known.owners.has(ownerKey(record)))
      return [];
    // A clone of a machine carries a copy of its record, and is whoever's made it.
    if (uuid !== machineUuid(record)) return [];
    const own = new Set(volumesOf(record));
    const volumes = inventory.volumes.filter((volume) => own.has(volume.name));
    const owner = { project: record.project, stack: record.stack, name: record.name };
    const reason = `no stack has the machine "${record.name}" of stack "${record.stack}"`;
    const users = usersOf(inventory, own, new Set([name]));
    // The seed is written each time the machine is built; its disk changes for as long as it runs.
    const seed = volumes.filter((volume) => volume.name === seedName(owner));
    const dated = seed.length > 0 ? seed : volumes;
    return [describe({ kind: "machine", name, owner, volumes, dated, users, reason }, inventory, options)];
  });
}

function orphanVolumes(
  inventory: Inventory,
  known: Known,
  taken: ReadonlySet<string>,
  options: SelectOptions,
): Orphan[] {
  return inventory.volumes.flatMap((volume) => {
    const owner = volumeOwner(options.project, volume.name);
    if (owner === undefined || known.owners.has(ownerKey(owner)) || taken.has(ownerKey(owner))) return [];
    const users = usersOf(inventory, new Set([volume.name]));
    const reason = `the machine "${owner.name}" of stack "${owner.stack}" is neither here nor in a stack`;
    const { name } = volume;
    return [describe({ kind: "volume", name, owner, volumes: [volume], users, reason }, inventory, options)];
  });
}

function orphanBases(inventory: Inventory, known: Known, options: SelectOptions): Orphan[] {
  return inventory.markers.flatMap(({ pool, name, marker }) => {
    if (known.images.has(marker.key)) return [];
    // The marker first: without it the data is no base any more.
    const volumes = [name, marker.volume].flatMap((wanted) =>
      inventory.volumes.filter((volume) => volume.pool === pool && volume.name === wanted),
    );
    const users = usersOf(inventory, new Set([marker.volume]), new Set([name]));
    if (users.length > 0) return [];
    const reason = baseReason(marker);
    const found = describe({ kind: "base", name, volumes, users, reason }, inventory, options);
    if (options.bases || found.keep !== undefined) return [found];
    return [{ ...found, keep: "bases carry no owner: add --bases to delete it" }];
  });
}

function baseReason({ key, source }: Marker): string {
  return `no stack and no config uses the image "${key}" (${source.url}), and nothing here hangs on it`;
}

function debris(inventory: Inventory, options: SelectOptions): Orphan[] {
  const published = new Set(
    inventory.markers.map(({ pool, marker }) => JSON.stringify([pool, marker.volume])),
  );
  return inventory.volumes.flatMap((volume) => {
    if (!ATTEMPT.test(volume.name) || published.has(JSON.stringify([volume.pool, volume.name]))) return [];
    const users = usersOf(inventory, new Set([volume.name]));
    const reason = "an upload that was never finished";
    const { name } = volume;
    return [describe({ kind: "debris", name, volumes: [volume], users, reason }, inventory, options)];
  });
}

/** Who mentions one of the volumes, besides the volumes themselves and those named in `apart`. */
function usersOf(
  inventory: Inventory,
  names: ReadonlySet<string>,
  apart: ReadonlySet<string> = new Set(),
): string[] {
  const mentions = (xml: string) => [...names].some((name) => xml.includes(name));
  return [
    ...inventory.domains.filter(({ name, xml }) => !apart.has(name) && mentions(xml)),
    ...inventory.volumes.filter(({ name, xml }) => !apart.has(name) && !names.has(name) && mentions(xml)),
  ].map(({ name }) => name);
}

interface Finding extends Pick<Orphan, "kind" | "name" | "owner" | "reason"> {
  volumes: SeenVolume[];
  /** The volumes whose age counts. Default: all. */
  dated?: SeenVolume[];
  users: string[];
}

function describe(
  { volumes, dated = volumes, users, ...what }: Finding,
  { unreadable }: Inventory,
  { now, graceMs }: SelectOptions,
): Orphan {
  const written = dated.flatMap(({ modified }) => (modified === undefined ? [] : [modified]));
  const ageMs = written.length === 0 ? undefined : Math.max(0, now - Math.max(...written));
  const keep = keepReason(ageMs, graceMs, users, unreadable);
  return {
    ...what,
    volumes: volumes.map(({ pool, name }) => ({ pool, name })),
    bytes: volumes.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(ageMs === undefined ? {} : { ageMs }),
    ...(keep === undefined ? {} : { keep }),
  };
}

function keepReason(
  ageMs: number | undefined,
  graceMs: number,
  users: string[],
  unreadable: string[],
): string | undefined {
  if (users.length > 0) return `in use by ${users.join(", ")}`;
  if (unreadable.length > 0) return `may be in use by ${unreadable.join(", ")}, which cannot be read`;
  if (graceMs === 0) return undefined;
  if (ageMs === undefined) return "its age is unknown: --grace 0 takes it all the same";
  return ageMs < graceMs ? "younger than the grace" : undefined;
}
