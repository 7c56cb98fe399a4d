import { dialer } from "@egress-proxies/providers/kvm/dial";
import { renderUploadTarget } from "@egress-proxies/providers/kvm/volume-xml";
import type { LibvirtClient, StoragePool } from "@egress-proxies/providers/libvirt/index";
import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { SshPool } from "@egress-proxies/providers/ssh/pool";

/** Makes an empty volume to upload into. */
export async function createVolume(host: KvmHost, name: string): Promise<void> {
  await withPool(host, async (client, pool) => {
    await client.storageVolCreateXML(pool, renderUploadTarget(name));
  });
}

/** Deletes all volumes whose names begin so. */
export async function deleteVolumes(host: KvmHost, prefix: string): Promise<void> {
  await withPool(host, async (client, pool) => {
    for (const volume of await client.storagePoolListAllVolumes(pool)) {
      if (volume.name.startsWith(prefix)) await client.storageVolDelete(volume);
    }
  });
}

/** On a connection of its own, which nothing measures. */
async function withPool(
  host: KvmHost,
  work: (client: LibvirtClient, pool: StoragePool) => Promise<void>,
): Promise<void> {
  const ssh = new SshPool();
  try {
    const client = await dialer(ssh)(host, "calls");
    try {
      await work(client, await client.storagePoolLookupByName(host.pool));
    } finally {
      await client.close();
    }
  } finally {
    await ssh.closeAll();
  }
}
