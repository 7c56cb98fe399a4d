import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kvmBackend } from "@egress-proxies/providers/kvm/backend";
import { publishedBase } from "@egress-proxies/providers/kvm/base";
import { type BaseOf, sharedBase } from "@egress-proxies/providers/kvm/naming";
import { HostSessions } from "@egress-proxies/providers/kvm/sessions";
import { entryBase } from "@egress-proxies/providers/kvm2/naming";
import { type CallRecord, LibvirtClient } from "@egress-proxies/providers/libvirt/index";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import type { KvmHost, KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import type { RunContext } from "@egress-proxies/providers/pulumi/backend";

/** What the backends on libvirt hosts differ in. */
export const KINDS = { kvm: sharedBase, kvm2: entryBase };
export type Kind = keyof typeof KINDS;

const socket = process.env.EGRESS_TEST_LIBVIRT_SOCKET;

/** A backend of its own against the lab's real daemon, with what it called and what it said. */
export class Harness {
  readonly calls: CallRecord[] = [];
  readonly said: string[] = [];
  readonly directory = mkdtempSync(join(tmpdir(), "egress-kvm-"));
  readonly prefix = `t${randomBytes(3).toString("hex")}`;
  readonly image = tinyImage(this.directory);
  readonly sessions = new HostSessions(() => this.dial(), systemClock, 0);
  readonly backend: ReturnType<typeof kvmBackend>;
  #abort = new AbortController();

  private constructor(baseOf: BaseOf) {
    this.backend = kvmBackend({
      withSession: (host, work) => this.sessions.use(host, work),
      baseOf,
      ensureBase: publishedBase(baseOf, { cacheDir: join(this.directory, "cache") }),
      random: () => randomBytes(4).toString("hex"),
    });
  }

  static checked(kind: Kind = "kvm"): Harness {
    if (socket === undefined) {
      throw new Error(
        "EGRESS_TEST_LIBVIRT_SOCKET is not set: run these tests with `npm run test:integration`",
      );
    }
    return new Harness(KINDS[kind]);
  }

  dial(): Promise<LibvirtClient> {
    return LibvirtClient.open(connect(socket!), { onCall: (record) => this.calls.push(record) });
  }

  readonly run: RunContext = {
    signal: this.#abort.signal,
    progress: (message) => this.said.push(message),
    warn: (message) => this.said.push(message),
  };

  /** A diskless-small machine that is only started, never waited for. */
  inputs(member: string, change: Partial<KvmMachineInputs> = {}): KvmMachineInputs {
    return {
      owner: { project: "egress-proxies", stack: this.prefix, name: `${this.prefix}-pool-${member}` },
      entry: "lab",
      host: this.host(),
      image: { key: this.prefix, url: this.image.path, sha256: this.image.sha256 },
      vcpus: 1,
      memoryMiB: 64,
      diskGiB: 1,
      firmware: "bios",
      userData: "#cloud-config\n",
      installGuestAgent: true,
      wait: "started",
      bootTimeoutSeconds: 5,
      ...change,
    };
  }

  host(change: Partial<KvmHost> = {}): KvmHost {
    return { name: "lab", address: "lab", pool: "default", network: "default", ...change };
  }

  /** The names of our domains and volumes on the host. */
  async left(): Promise<{ domains: string[]; volumes: string[] }> {
    const client = await this.dial();
    try {
      const domains = await client.connectListAllDomains();
      const pool = await client.storagePoolLookupByName("default");
      const volumes = await client.storagePoolListAllVolumes(pool);
      const ours = (names: string[]) => names.filter((name) => name.startsWith(`${this.prefix}-`)).sort();
      return {
        domains: ours(domains.map(({ name }) => name)),
        volumes: ours(volumes.map(({ name }) => name)),
      };
    } finally {
      await client.close();
    }
  }

  /** Takes everything away that carries this harness's prefix, whoever made it. */
  async dispose(): Promise<void> {
    const client = await this.dial();
    try {
      for (const domain of await client.connectListAllDomains()) {
        if (!domain.name.startsWith(this.prefix)) continue;
        if (domain.id >= 0) await client.domainDestroyFlags(domain);
        await client.domainUndefineFlags(domain, 7).catch(() => undefined);
      }
      const pool = await client.storagePoolLookupByName("default");
      for (const volume of await client.storagePoolListAllVolumes(pool)) {
        if (volume.name.includes(this.prefix)) await client.storageVolDelete(volume);
      }
    } finally {
      await client.close();
      await this.sessions.closeAll();
      rmSync(this.directory, { recursive: true, force: true });
    }
  }
}

/** An empty image; nothing boots from it, which is all that these tests need. */
export function tinyImage(directory: string, size = "16M"): { path: string; sha256: string } {
  const path = join(directory, `tiny-${size}.qcow2`);
  execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", path, size]);
  return { path, sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
