import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { PermanentError } from "../machine/errors";

export type Compression = "gz" | "xz" | "bz2" | "zst";

const MAGICS: Record<Compression, string> = {
  gz: "1f8b08",
  xz: "fd377a585a00",
  bz2: "425a68", // "BZh"; the level follows, then the first block's magic
  zst: "28b52ffd",
};
const BZIP2_BLOCK = "314159265359";

/** How a file is compressed, by its first bytes; undefined where it is not. */
export function detectCompression(head: Buffer): Compression | undefined {
  const start = head.toString("hex", 0, 10);
  const found = (Object.keys(MAGICS) as Compression[]).find((name) => start.startsWith(MAGICS[name]));
  return found === "bz2" && !start.endsWith(BZIP2_BLOCK) ? undefined : found;
}

/** The system's tools for what Node 20 cannot unpack itself, and the packages they come in. */
const TOOLS = {
  xz: { command: "xz", debian: "xz-utils" },
  bz2: { command: "bzip2", debian: "bzip2" },
  zst: { command: "zstd", debian: "zstd" },
} as const;

/**
 * The unpacked bytes of a file. A stream that ends without an error was whole.
 *
 * @throws PermanentError `CorruptImage`, `ToolMissing`
 */
export function decompress(path: string, compression: Compression): AsyncIterable<Buffer> {
  return compression === "gz" ? gunzip(path) : runTool(path, compression);
}

async function* gunzip(path: string): AsyncIterable<Buffer> {
  const source = createReadStream(path, { highWaterMark: 1 << 18 });
  const unpacked = createGunzip({ chunkSize: 1 << 18 });
  source.on("error", (error) => unpacked.destroy(error));
  try {
    yield* source.pipe(unpacked) as AsyncIterable<Buffer>;
  } catch (error) {
    throw corrupt(path, (error as Error).message, error);
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

async function* runTool(path: string, compression: keyof typeof TOOLS): AsyncIterable<Buffer> {
  const { command, debian } = TOOLS[compression];
  const child = spawn(command, ["-d", "-c", "--", path], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  ended.catch(() => undefined); // it is awaited below, but not if the reader leaves early
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-500);
  });
  try {
    // An `error` event means that the tool did not start; then there is no output to wait for.
    await Promise.race([new Promise((resolve) => child.once("spawn", resolve)), ended]);
    yield* child.stdout as AsyncIterable<Buffer>;
    const status = await ended;
    if (status !== 0) throw corrupt(path, complaint.trim() || `${command} ended with status ${status}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new PermanentError({
      reason: "ToolMissing",
      where: path,
      message: `the image is packed with ${compression}, and the command ${command} is not installed`,
      remedy: `Install it (Debian's package ${debian}).`,
      cause: error,
    });
  } finally {
    child.kill();
  }
}

function corrupt(path: string, complaint: string, cause?: unknown): PermanentError {
  return new PermanentError({
    reason: "CorruptImage",
    where: path,
    message: `the packed image cannot be unpacked (${complaint})`,
    remedy: "The published file itself is damaged: use another image.",
    cause,
  });
}
