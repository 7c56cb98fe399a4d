import { DomainState, ErrorCode, type LibvirtClient, LibvirtError } from "../libvirt";
import { PermanentError } from "../machine/errors";
import { machineMac, machineUuid, type Owner } from "../machine/owner";
import { unpackText } from "../machine/packed-text";
import { safePoint } from "../machine/safe-point";
import type { KvmMachineInputs } from "../machine/spec";
import { machineSpec, specHash } from "../machine/spec-hash";
import type { RunContext } from "../pulumi/backend";
import { renderSeed } from "../seed/seed";
import { leaseExpiry } from "./address";
import { renderDomain } from "./domain-xml";
import { hasCode, hostError } from "./faults";
import { overlayName, seedName } from "./names";
import { findByName, findByUuid, type OwnDomain } from "./observe";
import { removeMachine } from "./remove";
import type { HostSession } from "./session";
import { ensureOverlay, ensureSeed } from "./volumes";

/** A base image on the host that overlays may hang on; no larger than the machine's disk. */
export interface Base {
  path: string;
  format: "qcow2" | "raw";
}

export type EnsureBase = (session: HostSession, inputs: KvmMachineInputs, run: RunContext) => Promise<Base>;

export interface Ensured {
  /** Whether this call set it running; false: it ran already. */
  started: boolean;
  /** Whether this call defined it; false: it was there already. */
  made: boolean;
  /** Leases that run out later than this (seconds since the epoch) were given after the start. */
  leaseBefore: bigint;
}

/** Digest of what the machine must be; it stands in its owner record. */
export function kvmSpecHash(inputs: KvmMachineInputs): string {
  const { pool, network, virtType } = inputs.host;
  return specHash(machineSpec(inputs), { pool, network, virtType });
}

/**
 * Observe, ensure, return. Every step may be cut off and run again, also while
 * another process works on the same machine: names, UUID and contents are the
 * same for both. The domain, with its owner record, comes before its disks, so
 * that nothing lies on the host that no record accounts for.
 */
export async function ensureMachine(
  session: HostSession,
  inputs: KvmMachineInputs,
  ensureBase: EnsureBase,
  run: RunContext,
): Promise<Ensured> {
  const { signal } = run;
  const { host, owner } = inputs;
  const client = await session.calls();
  const hash = kvmSpecHash(inputs);
  let existing = await findByName(client, host.name, owner);
  if (existing !== undefined && existing.record.specHash !== hash) {
    safePoint(signal);
    await removeMachine(session, owner);
    existing = undefined;
  }
  const state = existing && (await client.domainGetState(existing.domain)).state;
  if (existing !== undefined && isUp(state)) {
    return { started: await resume(client, existing, state, signal), made: false, leaseBefore: 0n };
  }
  // What is missing on the host is said before anything is downloaded or uploaded.
  const facts = await session.pool();
  await session.network();
  const base = await ensureBase(session, inputs, run);
  const leaseBefore = leaseExpiry(await session.leases(), machineMac(owner));
  session.changed();
  safePoint(signal);
  let defined = false;
  try {
    if (existing === undefined) {
      await define(
        client,
        inputs,
        renderDomain({
          record: { ...owner, entry: inputs.entry, specHash: hash },
          uuid: machineUuid(owner),
          mac: machineMac(owner),
          virtType: await session.virtType(),
          firmware: inputs.firmware,
          vcpus: inputs.vcpus,
          memoryMiB: inputs.memoryMiB,
          diskPath: `${facts.directory}/${overlayName(owner)}`,
          seedPath: `${facts.directory}/${seedName(owner)}`,
          network: host.network,
        }),
      );
      defined = true;
    }
    safePoint(signal);
    const overlay = {
      name: overlayName(owner),
      capacity: BigInt(inputs.diskGiB) * 1024n ** 3n,
      basePath: base.path,
      baseFormat: base.format,
    };
    // A disk that was written to, under a domain that did not exist and does not run: somebody undefined its machine.
    await ensureOverlay(session, overlay, async () => defined && !isUp(await stateOf(client, owner)));
    safePoint(signal);
    await ensureSeed(session, seedName(owner), seedOf(inputs, hash));
    safePoint(signal);
    await start(session, inputs);
  } catch (error) {
    const fault = hostError(host, error);
    // What is transient is tried again, and what another run may go on with is left to it.
    if (defined && fault instanceof PermanentError) await rollBack(session, inputs);
    throw fault;
  }
  return { started: true, made: defined, leaseBefore };
}

/** Defines the domain. Where its UUID is taken under another name, that one is left alone and named. */
async function define(client: LibvirtClient, { host, owner }: KvmMachineInputs, xml: string): Promise<void> {
  try {
    await client.domainDefineXML(xml);
  } catch (error) {
    if (!(error instanceof LibvirtError)) throw error;
    const holder = await findByUuid(client, host.name, owner, machineUuid(owner));
    if (holder === undefined || holder.domain.name === owner.name) throw error;
    const name = holder.domain.name;
    throw new PermanentError({
      reason: "MachineRenamed",
      where: `host ${host.name}`,
      message: `the machine "${owner.name}" is now called "${name}"; it is left untouched`,
      remedy: `Shut it down and rename it back: \`virsh domrename ${name} ${owner.name}\``,
      cause: error,
    });
  }
}

async function stateOf(client: LibvirtClient, owner: Owner): Promise<number> {
  return (await client.domainGetState({ name: owner.name, uuid: machineUuid(owner), id: -1 })).state;
}

function isUp(state: number | undefined): boolean {
  return (
    state === DomainState.RUNNING ||
    state === DomainState.BLOCKED ||
    state === DomainState.PAUSED ||
    state === DomainState.PMSUSPENDED
  );
}

async function resume(
  client: LibvirtClient,
  { domain }: OwnDomain,
  state: number | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (state !== DomainState.PAUSED) return false;
  safePoint(signal);
  try {
    await client.domainResume(domain);
  } catch (error) {
    // A guest is paused for a moment while another run starts it, and runs by now.
    if (!hasCode(error, ErrorCode.OPERATION_INVALID)) throw error;
    if ((await client.domainGetState(domain)).state === DomainState.PAUSED) throw error;
  }
  return true;
}

async function start(session: HostSession, { owner }: KvmMachineInputs): Promise<void> {
  const client = await session.calls();
  const domain = { name: owner.name, uuid: machineUuid(owner), id: -1 };
  try {
    await client.domainCreateWithFlags(domain);
  } catch (error) {
    // "already running" is what we want, whoever started it.
    if (!hasCode(error, ErrorCode.OPERATION_INVALID)) throw error;
    const { state } = await client.domainGetState(domain);
    if (isUp(state)) return;
    await session.recheck("network");
    throw error;
  }
}

/** Takes away what this very create made; what stands in the way of that must not hide the first error. */
async function rollBack(session: HostSession, { owner }: KvmMachineInputs): Promise<void> {
  await removeMachine(session, owner).catch(() => undefined);
}

/** The seed goes with the machine for life: its instance-id is the machine's and its content's digest. */
function seedOf(inputs: KvmMachineInputs, hash: string): Buffer {
  return renderSeed({
    instanceId: `${machineUuid(inputs.owner)}-${hash.slice(0, 12)}`,
    localHostname: inputs.owner.name,
    userData: unpackText(inputs.userData),
    installGuestAgent: inputs.installGuestAgent,
    ...(inputs.vendorData === undefined ? {} : { vendorData: inputs.vendorData }),
    ...(inputs.networkConfig === undefined ? {} : { networkConfig: inputs.networkConfig }),
  });
}
