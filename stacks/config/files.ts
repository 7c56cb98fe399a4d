import { type Problem, problem } from "./problem";
import type { PropertyPath } from "./property-path";
import { text } from "./raw";
import { cloudInits } from "./rules/members";

/** Reads a file whole; throws Node's error where it cannot. */
export type ReadFile = (path: string) => Uint8Array;

/**
 * Reads every `cloudInit.file` of the pools as written, also of a config that
 * has other problems, so that all of them are reported together.
 */
export function readUserDataFiles(
  pools: unknown,
  readFile: ReadFile,
): { files: Readonly<Record<string, string>>; problems: Problem[] } {
  const files = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [path, file] of mentioned(pools)) {
    const content = read(file, readFile);
    if ("text" in content) files.set(file, content.text);
    else problems.push(problem(path, content.problem, content.remedy, file));
  }
  return { files: Object.fromEntries(files), problems };
}

function mentioned(pools: unknown): [PropertyPath, string][] {
  return cloudInits(pools).flatMap(([path, cloudInit]): [PropertyPath, string][] => {
    const file = text(cloudInit, "file");
    return file === undefined || file === "" ? [] : [[[...path, "file"], file]];
  });
}

function read(file: string, readFile: ReadFile): { text: string } | { problem: string; remedy: string } {
  let bytes: Uint8Array;
  try {
    bytes = readFile(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return {
      problem: `the file cannot be read: ${code}`,
      remedy: "Correct the path (relative ones start at the project's root) or the file's permissions.",
    };
  }
  try {
    // A byte order mark belongs to the user's bytes.
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return {
      problem: "the file is not valid UTF-8 text",
      remedy: "Compressed user-data cannot be used: give the text itself.",
    };
  }
}
