import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import type { ImageRef } from "@egress-proxies/providers/machine/spec";
import { runChild } from "./child";
import type { PublishJob } from "./children/publish";
import type { Figure } from "./figures";
import { imageFile, imageRef, packed } from "./files";
import type { BenchLab } from "./lab";
import { inTurn, median } from "./rounds";
import { scpSeconds } from "./scp";
import { deleteVolumes } from "./volumes";

/** The peak of every publication of the run, in MiB. */
type Peaks = number[];

/** Bringing a base image to a host, verified there by reading it back, beside scp of the unpacked image. */
export async function measurePublication(lab: BenchLab, quick: boolean): Promise<Figure[]> {
  const mib = quick ? 64 : 1024;
  const rounds = quick ? 1 : 3;
  const peaks: Peaks = [];
  const figures: Figure[] = [];

  const plain = await imageFile(lab.folder, "incompressible", mib);
  const incompressible = await imageRef("bench-plain", plain);
  const cold = await inTurn(rounds, {
    scp: () => scpSeconds(lab.host, plain),
    ours: () => publishAnew(lab, incompressible, peaks),
  });
  figures.push(againstScp("publish.cold", cold));

  const unpacked = await imageFile(lab.folder, "compressible", mib);
  const compressible = await imageRef("bench-packed", await packed(unpacked));
  const unpacking = await inTurn(rounds, {
    scp: () => scpSeconds(lab.host, unpacked),
    ours: () => publishAnew(lab, compressible, peaks),
  });
  figures.push(againstScp("publish.compressed", unpacking));

  figures.push(...(await measureWarm(lab, compressible, unpacked, rounds, peaks)));
  figures.push({ name: "publish.memory", value: Math.max(...peaks), unit: "MiB", aim: "below 200 MiB" });
  return figures;
}

/** The cache holds the image: on a host that has no base yet, and on one that has it. */
async function measureWarm(
  lab: BenchLab,
  image: ImageRef,
  unpacked: string,
  rounds: number,
  peaks: Peaks,
): Promise<Figure[]> {
  const cacheDir = mkdtempSync(path.join(lab.folder, "cache-"));
  try {
    await publish(lab, image, cacheDir, peaks);
    const second = await inTurn(rounds, {
      scp: () => scpSeconds(lab.host, unpacked),
      ours: async () => {
        await deleteBase(lab, image);
        return publish(lab, image, cacheDir, peaks);
      },
    });
    const again = await inTurn(rounds, { ours: () => publish(lab, image, cacheDir, peaks) });
    await deleteBase(lab, image);
    return [
      againstScp("publish.warm-host", second),
      { name: "publish.no-op", value: median(again.ours), unit: "s" },
    ];
  } finally {
    rmSync(cacheDir, { recursive: true });
  }
}

function againstScp(name: string, { ours, scp }: { ours: number[]; scp: number[] }): Figure {
  return { name, value: median(ours), unit: "s", baseline: median(scp), aim: "1.0 x scp or less" };
}

/** Neither the cache nor the host knows the image. */
async function publishAnew(lab: BenchLab, image: ImageRef, peaks: Peaks): Promise<number> {
  const cacheDir = mkdtempSync(path.join(lab.folder, "cache-"));
  try {
    return await publish(lab, image, cacheDir, peaks);
  } finally {
    await deleteBase(lab, image);
    rmSync(cacheDir, { recursive: true });
  }
}

async function publish({ host }: BenchLab, image: ImageRef, cacheDir: string, peaks: Peaks): Promise<number> {
  const job: PublishJob = { host, image, cacheDir };
  const { seconds, peakMiB } = await runChild("publish", job);
  peaks.push(peakMiB);
  return seconds;
}

function deleteBase({ host }: BenchLab, { key }: ImageRef): Promise<void> {
  return deleteVolumes(host, `base-${key}.`);
}
