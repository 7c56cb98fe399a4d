import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";

/**
 * A folder of the cache, made by `make` if it is not there yet. `make` fills a folder beside it, which is
 * renamed when it is complete: nobody sees half a folder, and of two runs at once the first one publishes.
 */
export async function cached(folder: string, make: (partial: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder;
  const parent = path.dirname(folder);
  await mkdir(parent, { recursive: true });
  await dropDebris(parent);
  const partial = await mkdtemp(path.join(parent, `.partial-${process.pid}-`));
  try {
    await make(partial);
    await rename(partial, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Removes what runs that were killed left behind: folders of processes that live no more. */
async function dropDebris(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = /^\.partial-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      await rm(path.join(parent, name), { recursive: true, force: true });
    }
  }
}
