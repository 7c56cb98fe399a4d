import { randomBytes, randomFillSync } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { hashFile } from "@egress-proxies/providers/images/part-file";
import type { ImageRef } from "@egress-proxies/providers/machine/spec";
import { step } from "../tools/common/process";

const MIB = 1024 * 1024;

/** A file of bytes that no compression makes smaller. */
export function randomFile(folder: string, mib: number): Promise<string> {
  return made(path.join(folder, `random-${mib}`), (partial) =>
    fill(partial, mib, (block) => randomFillSync(block)),
  );
}

/** A file that shrinks to about an eighth: every 4 KiB are the same 512 bytes eight times. */
function compressibleFile(folder: string, mib: number): Promise<string> {
  return made(path.join(folder, `compressible-${mib}`), (partial) =>
    fill(partial, mib, (block) => {
      for (let at = 0; at < block.length; at += 4096) block.fill(randomBytes(512), at, at + 4096);
    }),
  );
}

export type Content = "incompressible" | "compressible";

/** A qcow2 image with so much content. */
export async function imageFile(folder: string, content: Content, mib: number): Promise<string> {
  const raw = await (content === "incompressible" ? randomFile : compressibleFile)(folder, mib);
  return made(path.join(folder, `${content}-${mib}.qcow2`), (partial) =>
    step("making an image", "qemu-img", ["convert", "-f", "raw", "-O", "qcow2", raw, partial]),
  );
}

/** The same file packed with gzip. */
export function packed(file: string): Promise<string> {
  return made(`${file}.gz`, (partial) =>
    step("packing an image", "sh", ["-c", 'gzip -1 -c "$1" >"$2"', "sh", file, partial]),
  );
}

/** An image without content: what runs from it does nothing. */
export async function tinyImage(folder: string): Promise<ImageRef> {
  const file = await made(path.join(folder, "tiny.qcow2"), (partial) =>
    step("making an image", "qemu-img", ["create", "-q", "-f", "qcow2", partial, "16M"]),
  );
  return imageRef("tiny", file);
}

export async function imageRef(key: string, file: string): Promise<ImageRef> {
  return { key, url: file, sha256: (await hashFile(file)).sha256 };
}

async function made(file: string, make: (partial: string) => Promise<void>): Promise<string> {
  if (!existsSync(file)) {
    await make(`${file}.partial`);
    await rename(`${file}.partial`, file);
  }
  return file;
}

async function fill(file: string, mib: number, write: (block: Buffer) => void): Promise<void> {
  const handle = await open(file, "w");
  try {
    const block = Buffer.alloc(MIB);
    for (let done = 0; done < mib; done++) {
      write(block);
      await handle.writeFile(block);
    }
  } finally {
    await handle.close();
  }
}
