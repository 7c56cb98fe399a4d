import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { setting } from "./stack";

const run = promisify(execFile);
const ROOT = resolve(__dirname, "../../..");

async function until(condition: () => boolean): Promise<void> {
  for (let looks = 0; looks < 100; looks++) {
    if (condition()) return;
    await sleep(100);
  }
  throw new Error("waited 10 s in vain");
}

/** The lab host that `npm test` has brought up. */
export const lab = {
  get directory(): string {
    return setting("EGRESS_TEST_LAB");
  },
  get address(): string {
    return setting("EGRESS_TEST_HOST");
  },
  get target(): string {
    return setting("EGRESS_TEST_TARGET");
  },

  /** The lab's number, which picks its networks. */
  get number(): string {
    return lab.address.split(".")[2]!;
  },

  /** The clients that proxies allow in these tests: this side of the lab's link. */
  get clients(): string {
    return `10.77.${lab.number}.0/24`;
  },

  /** An address of this machine that is no allowed client. */
  get outsider(): string {
    return `10.78.${lab.number}.1`;
  },

  /** Stops or starts the host's sshd; connections that stand are left alone. */
  async sshd(action: "stop" | "start"): Promise<void> {
    const pidFile = join(lab.directory, "sshd.pid");
    if (action === "stop") {
      process.kill(Number(readFileSync(pidFile, "utf8")));
      await until(() => !existsSync(pidFile));
      return;
    }
    const sshd = [
      "/usr/sbin/sshd",
      "-f",
      join(lab.directory, "sshd_config"),
      "-E",
      join(lab.directory, "sshd.log"),
    ];
    await run(join(ROOT, "tools/lab/lab"), ["in", "egress-test", lab.number, lab.directory, ...sshd]);
    await until(() => existsSync(pidFile));
  },

  /** Runs a command on the host itself, as its administrator would. */
  async on(...command: string[]): Promise<string> {
    const ssh = [
      ["-i", join(lab.directory, "id_ed25519")],
      ["-o", `UserKnownHostsFile=${join(lab.directory, "known_hosts")}`],
      ["-o", "BatchMode=yes"],
    ].flat();
    const { stdout } = await run("ssh", [...ssh, `root@${lab.address}`, ...command]);
    return stdout.trim();
  },

  /** Defines a domain from a file of this machine, the way a stranger to this project would. */
  async define(file: string): Promise<void> {
    const connection = `qemu+unix:///system?socket=${setting("EGRESS_TEST_LIBVIRT_SOCKET")}`;
    await run("virsh", ["-q", "-c", connection, "define", file]);
  },

  virsh: (...args: string[]) => lab.on("virsh", "-q", ...args),

  /** Domains and volumes whose names start with `prefix`. */
  async holds(prefix: string): Promise<{ domains: string[]; volumes: string[] }> {
    const names = (text: string) =>
      text
        .split("\n")
        .map((line) => line.trim().split(/\s+/)[0] ?? "")
        .filter((name) => name.startsWith(prefix))
        .sort();
    return {
      domains: names(await lab.virsh("list", "--all", "--name")),
      volumes: names(await lab.virsh("vol-list", "default")),
    };
  },

  /** A provider entry for the lab host. */
  entry(change: Record<string, unknown> = {}, images?: Record<string, { url: string; sha256: string }>) {
    return {
      type: "kvm",
      hosts: [
        {
          name: "lab1",
          address: lab.address,
          user: "root",
          keyFile: join(lab.directory, "id_ed25519"),
          knownHostsFile: join(lab.directory, "known_hosts"),
          ...change,
        },
      ],
      images: images ?? { guest: image(resolve(setting("EGRESS_TEST_IMAGE"))) },
      machineTypes: {
        small: { vcpus: 2, memoryMiB: 512, diskGiB: 4 },
        smaller: { vcpus: 2, memoryMiB: 448, diskGiB: 4 },
        tiny: { vcpus: 1, memoryMiB: 64, diskGiB: 1, firmware: "bios" },
      },
    };
  },
};

/** A local image by its own digest. */
export function image(path: string): { url: string; sha256: string } {
  return { url: path, sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
