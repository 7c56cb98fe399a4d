import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { LibvirtClient, type OpenOptions } from "@egress-proxies/providers/libvirt/client";
import { ErrorCode, LibvirtError } from "@egress-proxies/providers/libvirt/errors";
import type { StoragePool } from "@egress-proxies/providers/libvirt/types";

/** The storage pool and the network that every lab host has. */
export const POOL = "default";
export const NETWORK = "default";

export function socketPath(): string {
  const path = process.env.EGRESS_TEST_LIBVIRT_SOCKET;
  if (path === undefined || path === "") {
    throw new Error("EGRESS_TEST_LIBVIRT_SOCKET is not set: run these tests with `npm run test:integration`");
  }
  return path;
}

export function openLab(options: OpenOptions = {}): Promise<LibvirtClient> {
  return LibvirtClient.open(connect(socketPath()), options);
}

/** A name that no other test, and no run beside this one, uses. */
export function uniqueName(stem: string): string {
  return `test-libvirt-${stem}-${randomBytes(4).toString("hex")}`;
}

/** An empty raw volume: the file grows with what is uploaded. */
export function emptyVolumeXml(name: string): string {
  return `<volume><name>${name}</name><capacity>0</capacity><allocation>0</allocation><target><format type='raw'/></target></volume>`;
}

/** Removes every volume whose name begins so, and rests only when that is done. */
export async function removeVolumes(client: LibvirtClient, pool: StoragePool, prefix: string): Promise<void> {
  for (const volume of await client.storagePoolListAllVolumes(pool)) {
    if (volume.name.startsWith(prefix)) await client.storageVolDelete(volume);
  }
}

/** Removes the domain of this name, running or not, where there is one. */
export async function removeDomain(client: LibvirtClient, name: string): Promise<void> {
  try {
    const domain = await client.domainLookupByName(name);
    await client.domainDestroyFlags(domain).catch(tolerate(ErrorCode.OPERATION_INVALID));
    await client.domainUndefineFlags(domain, 0);
  } catch (error) {
    tolerate(ErrorCode.NO_DOMAIN)(error);
  }
}

/** Matches a LibvirtError by its code, for `assert.rejects`. */
export function code(wanted: number): (error: unknown) => boolean {
  return (error) => error instanceof LibvirtError && error.code === wanted;
}

function tolerate(wanted: number): (error: unknown) => void {
  return (error) => {
    if (!code(wanted)(error)) throw error;
  };
}

/** Polls until `check` holds; mocha's timeout is the limit. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 50));
}
