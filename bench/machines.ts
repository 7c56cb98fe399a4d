import { publishTiny } from "./calls";
import type { Figure } from "./figures";
import { tinyImage } from "./files";
import type { BenchLab } from "./lab";
import { inTurn, median } from "./rounds";
import { Stack } from "./stack";

const MACHINE = "pulumi-nodejs:dynamic/egress:KvmMachine";

interface Times {
  up: number;
  refresh: number;
  destroy: number;
  /** The largest machine's entry in the exported state, in bytes; 0 where there is no machine. */
  machineBytes: number;
}

/** A pool of machines that are only started, through the real CLI, beside as many resources that do nothing. */
export async function measureMachines(lab: BenchLab, quick: boolean): Promise<Figure[]> {
  const size = quick ? 4 : 20;
  await publishTiny(lab);
  const machines = await poolConfig(lab, size);
  const times = await inTurn(quick ? 1 : 3, {
    pulumi: () => lifeOf(lab, "no-op", "dist/bench/programs/no-op.js", { "bench:size": size }),
    ours: () => lifeOf(lab, "egress-proxies", "dist/stacks/index.js", machines),
  });
  const figure = (step: "up" | "refresh" | "destroy", aim: string): Figure => ({
    name: `machines.${step}`,
    value: median(times.ours.map((taken) => taken[step])),
    unit: "s",
    baseline: median(times.pulumi.map((taken) => taken[step])),
    aim,
  });
  return [
    figure("up", "7.5 s or less"),
    figure("refresh", "near 1.0 x no-op"),
    figure("destroy", "6 s or less"),
    {
      name: "machines.state",
      value: Math.max(...times.ours.map(({ machineBytes }) => machineBytes)),
      unit: "bytes",
      aim: "below 6144 bytes",
    },
  ];
}

async function lifeOf(
  { folder }: BenchLab,
  project: string,
  program: string,
  config: Record<string, unknown>,
): Promise<Times> {
  const stack = await Stack.make(folder, project, program, config);
  try {
    const up = await stack.up();
    const sizes = (await stack.resources())
      .filter(({ type }) => type === MACHINE)
      .map((resource) => Buffer.byteLength(JSON.stringify(resource)));
    const refresh = await stack.refresh();
    const destroy = await stack.destroy();
    return { up, refresh, destroy, machineBytes: Math.max(0, ...sizes) };
  } finally {
    await stack.dispose();
  }
}

async function poolConfig({ host, folder }: BenchLab, size: number): Promise<Record<string, unknown>> {
  const { key, url, sha256 } = await tinyImage(folder);
  return {
    "egress:providers": {
      lab: {
        type: "kvm",
        hosts: [host],
        images: { [key]: { url, sha256 } },
        machineTypes: { tiny: { vcpus: 1, memoryMiB: 64, diskGiB: 1, firmware: "bios" } },
      },
    },
    "egress:pools": {
      crawl: {
        provider: "lab",
        size,
        wait: "started",
        placement: { machineType: "tiny", image: key },
        cloudInit: { squid: { allowedClients: ["192.0.2.0/24"] } },
      },
    },
  };
}
