import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import type { BaseNaming } from "@egress-proxies/providers/images/naming";
import type { PublishHost } from "@egress-proxies/providers/images/publish-host";
import { type CallRecord, LibvirtClient, type StorageVol } from "@egress-proxies/providers/libvirt/index";

/** The lab's daemon, or a clear error before any test runs. */
export function labSocket(): string {
  const socket = process.env.EGRESS_TEST_LIBVIRT_SOCKET;
  if (socket === undefined) {
    throw new Error("EGRESS_TEST_LIBVIRT_SOCKET is not set: run these tests with `npm run test:integration`");
  }
  return socket;
}

/** A host as publishers see it, on connections of its own, which can be cut. */
export class LabHost implements PublishHost {
  readonly records: CallRecord[] = [];
  /** All connections end once so many bytes went to the daemon. */
  cutAfter = Number.POSITIVE_INFINITY;
  sent = 0;
  /** A connection that was cut is followed by a sound one, as one dialled anew. */
  heals = false;
  private readonly clients = new Map<string, Promise<LibvirtClient>>();

  /** Publishers of this process share their work per host name; another name makes a rival of its own. */
  constructor(
    readonly pool = "default",
    readonly name = "lab",
  ) {}

  calls(): Promise<LibvirtClient> {
    return this.client("calls");
  }

  bulk(): Promise<LibvirtClient> {
    return this.client("bulk");
  }

  async close(): Promise<void> {
    const clients = await Promise.allSettled(this.clients.values());
    this.clients.clear();
    for (const client of clients) if (client.status === "fulfilled") await client.value.close();
  }

  /** The names of the volumes whose names begin so. */
  async volumes(prefix: string): Promise<string[]> {
    return (await this.list()).map(({ name }) => name).filter((name) => name.startsWith(prefix));
  }

  async list(): Promise<StorageVol[]> {
    const client = await this.calls();
    return client.storagePoolListAllVolumes(await client.storagePoolLookupByName(this.pool));
  }

  async write(name: string, content: Buffer): Promise<StorageVol> {
    const client = await this.calls();
    const xml = `<volume><name>${name}</name><capacity>0</capacity><target><format type='raw'/></target></volume>`;
    const volume = await client.storageVolCreateXML(await client.storagePoolLookupByName(this.pool), xml);
    if (content.length > 0) await client.storageVolUpload(volume, once(content));
    return volume;
  }

  async read(name: string): Promise<Buffer> {
    const client = await this.calls();
    const chunks: Buffer[] = [];
    for await (const chunk of client.storageVolDownload({ pool: this.pool, name, key: "" }))
      chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async remove(name: string): Promise<void> {
    await (await this.calls()).storageVolDelete({ pool: this.pool, name, key: "" });
  }

  /** Deletes all that a test made. */
  async clear(prefix: string): Promise<void> {
    for (const name of await this.volumes(prefix)) await this.remove(name);
  }

  private async client(kind: string): Promise<LibvirtClient> {
    const known = this.clients.get(kind);
    if (known !== undefined && !(this.heals && (await known).closed)) return known;
    const client = this.open();
    this.clients.set(kind, client);
    return client;
  }

  private open(): Promise<LibvirtClient> {
    const socket = connect(labSocket());
    const cut = this.cutAfter === Number.POSITIVE_INFINITY ? socket : this.cuttable(socket);
    return LibvirtClient.open(cut, { onCall: (record) => this.records.push(record) });
  }

  private cuttable(socket: Duplex): Duplex {
    return Duplex.from({
      readable: socket,
      writable: async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          const rest = this.cutAfter - this.sent;
          this.sent += chunk.length;
          if (chunk.length > rest) {
            // Half a packet may go out, as on a real link.
            if (rest > 0) await new Promise((done) => socket.write(chunk.subarray(0, rest), done));
            socket.destroy();
            if (this.heals) this.cutAfter = Number.POSITIVE_INFINITY;
            return;
          }
          await new Promise((done) => socket.write(chunk, done));
        }
        socket.end();
      },
    });
  }
}

/** A base of one test's own. */
export function newNaming(): BaseNaming & { key: string } {
  return { key: `t${randomBytes(5).toString("hex")}` };
}

async function* once(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}
