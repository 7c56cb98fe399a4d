import { randomBytes } from "node:crypto";
import path from "node:path";
import { kvmBackend } from "@egress-proxies/providers/kvm/backend";
import { publishedBase } from "@egress-proxies/providers/kvm/base";
import { dialer } from "@egress-proxies/providers/kvm/dial";
import { sharedBase } from "@egress-proxies/providers/kvm/naming";
import { HostSessions } from "@egress-proxies/providers/kvm/sessions";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import type { ImageRef, KvmHost, KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import type { RunContext } from "@egress-proxies/providers/pulumi/backend";
import { SshPool } from "@egress-proxies/providers/ssh/pool";
import { say } from "../tools/common/say";
import type { Figure } from "./figures";
import { tinyImage } from "./files";
import type { BenchLab } from "./lab";

const run: RunContext = {
  signal: new AbortController().signal,
  progress: () => {},
  warn: say,
};

/**
 * Calls to libvirtd per machine, everything counted that a provider process says
 * from its first connection on, for machines that are only started.
 */
export async function measureCalls({ host, folder }: BenchLab, quick: boolean): Promise<Figure[]> {
  const machines = quick ? 4 : 20;
  const image = await tinyImage(folder);
  await publishTiny({ host, folder });
  const inputs = Array.from({ length: machines }, (_, at) => machineInputs(host, image, `calls-${at}`));

  const create = await counted(folder, (backend) =>
    Promise.all(inputs.map((machine) => backend.create(machine, run))),
  );
  const read = await counted(folder, (backend) =>
    Promise.all(create.result.map(({ id, outputs }) => backend.read(id, outputs, run))),
  );
  const remove = await counted(folder, (backend) =>
    Promise.all(create.result.map(({ id, outputs }) => backend.delete(id, outputs, run))),
  );
  const perMachine = (name: string, calls: number, aim: number): Figure => ({
    name,
    value: calls / machines,
    unit: "calls",
    aim: `${aim} or fewer`,
  });
  return [
    perMachine("calls.create", create.calls, 12),
    perMachine("calls.read", read.calls, 1),
    perMachine("calls.delete", remove.calls, 8),
  ];
}

/** Makes the base of the tiny image present on the host. */
export async function publishTiny({ host, folder }: BenchLab): Promise<void> {
  const image = await tinyImage(folder);
  await counted(folder, async (backend) => {
    const { id, outputs } = await backend.create(machineInputs(host, image, "first"), run);
    await backend.delete(id, outputs, run);
  });
}

type KvmBackend = ReturnType<typeof kvmBackend>;

/** Runs `work` with a backend that has no connection and knows nothing yet, as in a new provider process. */
async function counted<T>(
  folder: string,
  work: (backend: KvmBackend) => Promise<T>,
): Promise<{ result: T; calls: number }> {
  let calls = 0;
  const ssh = new SshPool();
  const sessions = new HostSessions(
    dialer(ssh, () => calls++),
    systemClock,
  );
  const backend = kvmBackend({
    withSession: (host, work) => sessions.use(host, work),
    baseOf: sharedBase,
    ensureBase: publishedBase(sharedBase, { cacheDir: path.join(folder, "cache") }),
    random: () => randomBytes(4).toString("hex"),
  });
  try {
    const result = await work(backend);
    return { result, calls };
  } finally {
    await sessions.closeAll();
    await ssh.closeAll();
  }
}

function machineInputs(host: KvmHost, image: ImageRef, member: string): KvmMachineInputs {
  return {
    owner: { project: "egress-proxies", stack: "bench", name: `bench-${member}` },
    entry: "lab",
    host,
    image,
    vcpus: 1,
    memoryMiB: 64,
    diskGiB: 1,
    firmware: "bios",
    userData: "#cloud-config\n",
    installGuestAgent: true,
    wait: "started",
    bootTimeoutSeconds: 60,
  };
}
