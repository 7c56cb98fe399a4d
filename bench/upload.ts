import { runChild } from "./child";
import type { UploadJob } from "./children/upload";
import type { Figure } from "./figures";
import { randomFile } from "./files";
import type { BenchLab } from "./lab";
import { inTurn, median } from "./rounds";
import { scpSeconds } from "./scp";
import { createVolume, deleteVolumes } from "./volumes";

const VOLUME = "bench-upload";

/** A file of incompressible bytes through storageVolUpload, beside scp. */
export async function measureUpload({ host, folder }: BenchLab, quick: boolean): Promise<Figure[]> {
  const file = await randomFile(folder, quick ? 64 : 1024);
  const peaks: number[] = [];
  const ours = async () => {
    await createVolume(host, VOLUME);
    try {
      const job: UploadJob = { host, file, volume: VOLUME };
      const { seconds, peakMiB } = await runChild("upload", job);
      peaks.push(peakMiB);
      return seconds;
    } finally {
      await deleteVolumes(host, VOLUME);
    }
  };
  const taken = await inTurn(quick ? 1 : 3, { scp: () => scpSeconds(host, file), ours });
  return [
    {
      name: "upload.time",
      value: median(taken.ours),
      unit: "s",
      baseline: median(taken.scp),
      aim: "1.0 x scp or less",
    },
    { name: "upload.memory", value: Math.max(...peaks), unit: "MiB", aim: "below 200 MiB" },
  ];
}
