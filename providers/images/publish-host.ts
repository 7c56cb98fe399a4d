import {
  ErrorCode,
  hasCode,
  type LibvirtClient,
  LibvirtClosedError,
  LibvirtError,
  LibvirtProtocolError,
  LibvirtTimeoutError,
} from "../libvirt";
import { EgressError, type Fault, PermanentError, TransientError } from "../machine/errors";

/** A host to publish base images on. */
export interface PublishHost {
  /** The host's name in the config. */
  name: string;
  /** The storage pool's name. */
  pool: string;
  /** The connection for calls. */
  calls(): Promise<LibvirtClient>;
  /** The connection for bulk bytes. */
  bulk(): Promise<LibvirtClient>;
}

export function shownHost({ name, pool }: Pick<PublishHost, "name" | "pool">): string {
  return `host ${name}, pool ${pool}`;
}

export { hasCode };

/** `call`, or undefined where the volume does not exist. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (hasCode(error, ErrorCode.NO_STORAGE_VOL)) return undefined;
    throw error;
  }
}

/** What libvirt said, as one of this project's errors; anything else stays what it is. */
export function hostFault(host: PublishHost, error: unknown): unknown {
  const where = shownHost(host);
  if (
    error instanceof LibvirtClosedError ||
    error instanceof LibvirtTimeoutError ||
    error instanceof LibvirtProtocolError
  ) {
    return new TransientError({
      reason: "LibvirtUnavailable",
      where,
      message: error.message,
      remedy: "Look at libvirtd's log on the host, then run again.",
      cause: error,
    });
  }
  if (error instanceof EgressError || !(error instanceof LibvirtError)) return error;
  const fault = FAULTS[error.code];
  return fault === undefined
    ? new PermanentError({
        reason: "LibvirtFailed",
        where,
        message: error.message,
        remedy: "Look at libvirtd's log on the host.",
        cause: error,
      })
    : new PermanentError({ ...fault, where, cause: error });
}

const ACCESS_DENIED: Fault = {
  reason: "LibvirtAccessDenied",
  message: "libvirt refuses this login",
  remedy: "Add it to the `libvirt` group on the host (`sudo usermod -aG libvirt USER`).",
};

const FAULTS: Record<number, Fault> = {
  [ErrorCode.NO_STORAGE_POOL]: {
    reason: "PoolMissing",
    message: "the storage pool does not exist",
    remedy: "Set `pool` to one of `virsh pool-list --all`, or define it.",
  },
  [ErrorCode.AUTH_FAILED]: ACCESS_DENIED,
  [ErrorCode.AUTH_CANCELLED]: ACCESS_DENIED,
  [ErrorCode.ACCESS_DENIED]: ACCESS_DENIED,
  [ErrorCode.AUTH_UNAVAILABLE]: ACCESS_DENIED,
};

/** The same error, unless it only says in libvirt's way that the pool is not active. */
export async function orPoolInactive(host: PublishHost, error: unknown): Promise<unknown> {
  if (!hasCode(error, ErrorCode.OPERATION_INVALID)) return error;
  try {
    const client = await host.calls();
    const active = await client.storagePoolIsActive(await client.storagePoolLookupByName(host.pool));
    return active ? error : poolInactive(host);
  } catch {
    return error; // the host cannot be asked now: what it said before stands
  }
}

export function poolInactive(host: PublishHost): PermanentError {
  return new PermanentError({
    reason: "PoolInactive",
    where: shownHost(host),
    message: "the storage pool is not active",
    remedy: `Start it: \`virsh pool-start ${host.pool}\`, and \`virsh pool-autostart ${host.pool}\`.`,
  });
}

export function poolFull(
  host: PublishHost,
  needed: bigint,
  available: bigint,
  cause?: unknown,
): PermanentError {
  return new PermanentError({
    reason: "PoolFull",
    where: shownHost(host),
    message: `the image needs ${needed} bytes, the storage pool has ${available} left`,
    remedy: "Free space there, or use another pool.",
    cause,
  });
}
