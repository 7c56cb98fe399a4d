import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readdir, readlink, rm, statfs, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { DomainUndefine, LibvirtClient, ListStoragePools } from "@egress-proxies/providers/libvirt/index";

const run = promisify(execFile);

/** A file system of the lab's own, so that it can be filled; the pool is a folder in it. */
const ROOM = "/var/lib/libvirt/chaos";
const ROOM_MIB = 128;

/** The host that the stacks work on: a lab, with a pool whose disk can be filled and a daemon that can be killed. */
export class ChaosHost {
  readonly pool = "chaos";
  /** The pool's folder, as the host sees it. */
  readonly directory = `${ROOM}/pool`;

  /** @param lab the lab's folder */
  constructor(private readonly lab: string) {}

  async prepare(): Promise<void> {
    await this.cleanUp();
    await this.inside("mkdir", "-p", ROOM);
    await this.inside("mount", "-t", "tmpfs", "-o", `size=${ROOM_MIB}m`, "egress-chaos", ROOM);
    await this.inside("mkdir", this.directory);
    await this.inside("virsh", "-q", "pool-define-as", this.pool, "dir", "--target", this.directory);
    await this.inside("virsh", "-q", "pool-autostart", this.pool);
    await this.inside("virsh", "-q", "pool-start", this.pool);
    await this.inside("virsh", "-q", "capabilities"); // a new daemon first looks at every QEMU for a while
  }

  /** Takes the pool away again, and starts the daemon where it does not run. */
  async cleanUp(): Promise<void> {
    await this.startDaemon();
    await this.clear();
    for (const command of [
      ["virsh", "-q", "pool-destroy", this.pool],
      ["virsh", "-q", "pool-undefine", this.pool],
      ["umount", ROOM],
    ])
      await this.inside(...command).catch(() => undefined); // it was never there
  }

  /** kill -9 of libvirtd. Guests live on. */
  killDaemon(): void {
    const pid = this.pid("libvirtd");
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  }

  /** Starts libvirtd where it does not run, and waits until it answers. */
  async startDaemon(): Promise<void> {
    if (this.pid("libvirtd") === undefined) {
      await this.inside("/usr/sbin/libvirtd", "-d", "-p", join(this.lab, "libvirtd.pid"));
    }
    for (let looks = 1; ; looks++) {
      try {
        return await (await this.libvirt()).close();
      } catch (error) {
        if (looks === 100) throw error;
        await sleep(100);
      }
    }
  }

  libvirt(): Promise<LibvirtClient> {
    return LibvirtClient.open(connect(join(this.lab, "run/libvirt-sock")));
  }

  /** Leaves only so many bytes free in the pool, until `empty`. */
  async fill(free: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.seenFromHere(ROOM));
    try {
      await writeFile(this.ballast, Buffer.alloc(Math.max(0, bavail * bsize - free)));
    } catch (error) {
      // An upload was quicker: then it is all full.
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }

  async empty(): Promise<void> {
    await rm(this.ballast, { force: true });
  }

  /** Takes away every domain of these tests and every file of the pool, whatever state they are in. */
  async clear(): Promise<void> {
    const client = await this.libvirt();
    try {
      for (const domain of await client.connectListAllDomains()) {
        if (!domain.name.startsWith("chaos-")) continue;
        if (domain.id >= 0) await client.domainDestroyFlags(domain);
        await client.domainUndefineFlags(domain, DomainUndefine.NVRAM);
      }
      for (const name of await this.files()) await rm(this.file(name));
      const pools = await client.connectListAllStoragePools(ListStoragePools.ACTIVE);
      for (const pool of pools) if (pool.name === this.pool) await client.storagePoolRefresh(pool);
    } finally {
      await client.close();
    }
  }

  async files(): Promise<string[]> {
    const directory = this.seenFromHere(this.directory);
    return existsSync(directory) ? readdir(directory) : [];
  }

  /** Where this process finds a file of the pool. */
  file(name: string): string {
    return this.seenFromHere(join(this.directory, name));
  }

  /** The names of the guests whose QEMU runs, whether the daemon knows or not. */
  async guests(): Promise<string[]> {
    const network = await readlink(`/proc/${this.anchor}/ns/net`);
    const guests: string[] = [];
    for (const pid of await readdir("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      try {
        if ((await readlink(`/proc/${pid}/ns/net`)) !== network) continue;
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        const guest = /^guest=([^,]+)/.exec(words[words.indexOf("-name") + 1] ?? "")?.[1];
        if (guest !== undefined && words[0]?.includes("qemu-system")) guests.push(guest);
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        // It ended meanwhile, or its namespaces are closed to us and thus not the lab's.
        if (!["ENOENT", "ESRCH", "EACCES"].includes(code)) throw error;
      }
    }
    return guests.sort();
  }

  private get ballast(): string {
    return this.seenFromHere(join(ROOM, "ballast"));
  }

  private seenFromHere(path: string): string {
    return `/proc/${this.anchor}/root${path}`;
  }

  /** A process of the lab that outlives the daemon: sshd. */
  private get anchor(): number {
    const pid = this.pid("sshd");
    if (pid === undefined) throw new Error(`no sshd runs in the lab ${this.lab}`);
    return pid;
  }

  private pid(daemon: "libvirtd" | "sshd"): number | undefined {
    try {
      const pid = Number(readFileSync(join(this.lab, `${daemon}.pid`), "utf8"));
      const [, state] = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      return state === "Z" ? undefined : pid;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  private async inside(...command: string[]): Promise<void> {
    await run("nsenter", ["-t", String(this.anchor), "-m", "-n", "--", ...command]);
  }
}
