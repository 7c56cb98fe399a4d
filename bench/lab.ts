import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { dialer } from "@egress-proxies/providers/kvm/dial";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { SshPool } from "@egress-proxies/providers/ssh/pool";
import { root } from "../tools/common/paths";
import { ownedProcess } from "../tools/common/pid-file";
import { step } from "../tools/common/process";
import { say } from "../tools/common/say";
import { Lab } from "../tools/lab/lab";

const NAME = "egress-bench";
const DEFAULT_NUMBER = 31;

/** The host that everything is measured on. */
export interface BenchLab {
  host: KvmHost;
  /** For files of the run; it goes away with the lab. On the same file system as the host's pool. */
  folder: string;
}

/**
 * Runs `work` with a lab host of its own and takes that down afterwards, however `work` ended.
 * EGRESS_LAB_NUMBER (default 31) picks the lab's networks.
 *
 * @throws PermanentError `LabTaken` where another benchmark uses that number
 */
export async function withLab<T>(work: (lab: BenchLab) => Promise<T>): Promise<T> {
  const number = Number(process.env.EGRESS_LAB_NUMBER ?? DEFAULT_NUMBER);
  const folder = path.join(os.tmpdir(), `${NAME}-${number}`);
  const runner = path.join(folder, "runner.pid");
  const other = ownedProcess(runner, "bench");
  if (other !== undefined) {
    throw new PermanentError({
      reason: "LabTaken",
      where: `lab ${number}`,
      message: `the benchmark of process ${other} uses it`,
      remedy: "Wait for its end, or set EGRESS_LAB_NUMBER to another number from 1 to 150.",
    });
  }
  const lab = new Lab(NAME, number, folder);
  const down = async () => {
    await lab.down();
    rmSync(folder, { recursive: true, force: true });
  };
  await down(); // what a killed run left
  mkdirSync(folder, { recursive: true });
  writeFileSync(runner, `${process.pid}\n`);
  try {
    await start(number, folder);
    const host: KvmHost = {
      name: "lab",
      address: lab.address,
      user: "root",
      keyFile: lab.keyFile,
      knownHostsFile: lab.knownHostsFile,
      pool: "default",
      network: "default",
    };
    await warmUp(host);
    return await unlessInterrupted(work({ host, folder }));
  } finally {
    await down();
  }
}

/** Ctrl-C ends the measuring, so that the lab is taken down as after any other failure. */
async function unlessInterrupted<T>(work: Promise<T>): Promise<T> {
  let interrupt = () => {};
  const interrupted = new Promise<never>((_resolve, reject) => {
    interrupt = () =>
      reject(
        new PermanentError({
          reason: "Interrupted",
          message: "the benchmark was interrupted",
          remedy: "Run it again",
        }),
      );
  });
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

function start(number: number, folder: string): Promise<void> {
  const script = path.join(root, "tools/lab/lab");
  return step("starting the lab host", script, ["up", NAME, String(number), folder], {
    remedy: "Read the lines above; the lab host needs root and Linux network namespaces.",
  });
}

/** A daemon that has just been installed asks QEMU what it can do, once and for seconds: no host in use does. */
async function warmUp(host: KvmHost): Promise<void> {
  say("letting libvirtd look at QEMU");
  const ssh = new SshPool();
  try {
    const client = await dialer(ssh)(host, "calls");
    await client.connectGetCapabilities({ timeoutMs: 120_000 });
    await client.close();
  } finally {
    await ssh.closeAll();
  }
}
