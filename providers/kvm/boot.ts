import type { LibvirtClient } from "../libvirt";
import { TransientError } from "../machine/errors";
import { machineMac, machineUuid, type Owner } from "../machine/owner";
import type { Clock } from "../machine/retry";
import { safePoint } from "../machine/safe-point";
import type { RunContext } from "../pulumi/backend";
import { askedAddress, leasedAddress } from "./address";
import { onHost } from "./faults";
import type { HostSession } from "./session";

/** Between two looks for an address, in milliseconds. */
const POLL_MS = 2_000;
/** Leases cost one call for all machines; the agent and ARP are asked one machine at a time, so more rarely. */
const ASK_EVERY = 5;
const REPORT_MS = 15_000;

/** Looks once: leases first, since they are shared, then the agent and ARP. */
export async function currentAddress(
  session: HostSession,
  client: LibvirtClient,
  owner: Owner,
  leaseBefore = 0n,
): Promise<string | undefined> {
  const mac = machineMac(owner);
  const leased = leasedAddress(await session.leases(), mac, leaseBefore);
  return leased ?? askedAddress(client, { name: owner.name, uuid: machineUuid(owner), id: -1 }, mac);
}

/** Polls until the guest shows an address. Undefined once `timeoutMs` is over. */
export async function waitForAddress(
  session: HostSession,
  owner: Owner,
  options: { leaseBefore: bigint; timeoutMs: number; clock: Clock; run: RunContext },
): Promise<string | undefined> {
  const { clock, run, leaseBefore } = options;
  const began = clock.now();
  let reported = began;
  for (let look = 1; ; look++) {
    safePoint(run.signal);
    const found = await lookOnce(session, owner, leaseBefore, look % ASK_EVERY === 0);
    if (found !== undefined) return found;
    const now = clock.now();
    if (now - began >= options.timeoutMs) return undefined;
    if (now - reported >= REPORT_MS) {
      run.progress(`${owner.name}: booting, no address yet after ${Math.round((now - began) / 1000)} s`);
      reported = now;
    }
    await clock.sleep(POLL_MS);
  }
}

/** A connection that breaks while a guest boots is no reason to give up on the guest. */
async function lookOnce(
  session: HostSession,
  owner: Owner,
  leaseBefore: bigint,
  askGuest: boolean,
): Promise<string | undefined> {
  try {
    return await onHost(session.host, async () => {
      if (askGuest) return currentAddress(session, await session.calls(), owner, leaseBefore);
      return leasedAddress(await session.leases(), machineMac(owner), leaseBefore);
    });
  } catch (error) {
    if (error instanceof TransientError) return undefined;
    throw error;
  }
}
