import {
  ErrorCode,
  hasCode,
  LibvirtClosedError,
  LibvirtError,
  LibvirtProtocolError,
  LibvirtTimeoutError,
} from "../libvirt";
import { EgressError, type Fault, PermanentError, TransientError } from "../machine/errors";
import type { KvmHost } from "../machine/spec";

/** Runs calls against a host; what libvirt says is turned into this project's errors. */
export async function onHost<T>(host: KvmHost, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw hostError(host, error);
  }
}

export { hasCode };

/** `work`, or undefined where libvirt answers with one of the codes that mean "not there". */
export async function unlessCode<T>(work: Promise<T>, ...codes: number[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, ...codes)) return undefined;
    throw error;
  }
}

/** What an error of a call means to people; errors that are no libvirt errors stay as they are. */
export function hostError(host: KvmHost, error: unknown): unknown {
  if (error instanceof EgressError) return error;
  const where = `host ${host.name}`;
  if (
    error instanceof LibvirtClosedError ||
    error instanceof LibvirtProtocolError ||
    error instanceof LibvirtTimeoutError
  ) {
    return new TransientError({
      reason: "LibvirtUnavailable",
      where,
      message: error.message,
      remedy: "Look at libvirtd's log on the host, then run again",
      cause: error,
    });
  }
  if (!(error instanceof LibvirtError)) return error;
  const permanent = (fault: Fault) => new PermanentError({ ...fault, where, cause: error });
  switch (error.code) {
    case ErrorCode.NO_STORAGE_POOL:
      return permanent({
        reason: "PoolMissing",
        message: `the storage pool "${host.pool}" does not exist`,
        remedy: "Set `pool` to one of `virsh pool-list --all`, or define it",
      });
    case ErrorCode.NO_NETWORK:
      return permanent({
        reason: "NetworkMissing",
        message: `the network "${host.network}" does not exist`,
        remedy: "Set `network` to one of `virsh net-list --all`, or define it",
      });
    case ErrorCode.AUTH_FAILED:
    case ErrorCode.AUTH_CANCELLED:
    case ErrorCode.ACCESS_DENIED:
    case ErrorCode.AUTH_UNAVAILABLE:
      return permanent({
        reason: "LibvirtAccessDenied",
        message: "libvirt refuses this login",
        remedy: "Add it to the `libvirt` group on the host (`sudo usermod -aG libvirt USER`)",
      });
    case ErrorCode.OPERATION_TIMEOUT:
    case ErrorCode.RESOURCE_BUSY:
      return new TransientError({
        reason: "LibvirtBusy",
        where,
        message: error.message,
        remedy: "Look with `virsh domjobinfo` and at the host's load, then run again",
        cause: error,
      });
    default:
      return permanent({
        reason: "LibvirtFailed",
        message: error.message,
        remedy: "Look at libvirtd's log on the host",
      });
  }
}
