import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { cached } from "../common/cache";
import { cacheFolder, root } from "../common/paths";
import { step } from "../common/process";
import { say } from "../common/say";

const script = path.join(root, "tools/image/build");

/** The file's name, in the cache and in SHA256SUMS. */
export const IMAGE = "debian-12.qcow2";

/** The guest image of the lab, from the cache or built now. Returns its path; SHA256SUMS lies beside it. */
export async function guestImage(): Promise<string> {
  const key = createHash("sha256").update(readFileSync(script)).digest("hex").slice(0, 16);
  const folder = await cached(path.join(cacheFolder(), "images", key), async (partial) => {
    say("about to build the guest image from Debian's packages (once: 2 to 3 minutes, 205 MB)");
    const image = path.join(partial, IMAGE);
    await step("building the guest image", script, [image], {
      expect: "2 to 3 minutes",
      remedy: "It needs root, 4 GB of room in the cache and a Debian mirror; mend that, then run this again.",
    });
    await writeFile(path.join(partial, "SHA256SUMS"), `${await sha256(image)}  ${IMAGE}\n`);
  });
  return path.join(folder, IMAGE);
}

/** Makes the image and its SHA256SUMS known in `folder` by symbolic links. */
export async function linkImage(image: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of [IMAGE, "SHA256SUMS"]) {
    const link = path.join(folder, name);
    await rm(link, { force: true });
    await symlink(path.join(path.dirname(image), name), link);
  }
}

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
