import { type CallRecord, dialLibvirt } from "../libvirt";
import { SshPool } from "../ssh";
import type { Dial } from "./session";

/**
 * Opens libvirt on a host through a shared SSH connection. Bulk bytes get an
 * SSH connection of their own: the daemon stops reading a client's socket at its
 * limit of requests, and stream packets count as such.
 */
export function dialer(
  ssh: SshPool = new SshPool(),
  onCall?: (host: string, record: CallRecord) => void,
): Dial {
  return async (host, purpose) => {
    const lease = await ssh.acquire(host, purpose);
    try {
      const client = await dialLibvirt(lease.connection, {
        hostName: `host ${host.name}`,
        ...(host.socket === undefined ? {} : { socket: host.socket }),
        ...(onCall === undefined ? {} : { onCall: (record) => onCall(host.name, record) }),
      });
      client.onClose(() => lease.release());
      return client;
    } catch (error) {
      lease.release();
      throw error;
    }
  };
}
