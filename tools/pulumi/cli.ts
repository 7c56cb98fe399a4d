import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { cached } from "../common/cache";
import { binFolder, cacheFolder, root } from "../common/paths";
import { capture, step, withProgress } from "../common/process";
import { say } from "../common/say";
import { downloadUrl, PULUMI_VERSION, parseVersion } from "./version";

/**
 * The Pulumi CLI of exactly the SDK's version: the one on PATH, else the cached one, else the official
 * download, else built with Go.
 * @returns the executable's path
 * @throws PermanentError if there is no way to have it
 */
export async function pulumiCli(): Promise<string> {
  const found = findOnPath("pulumi", process.env.PATH ?? "");
  if (found !== undefined) {
    const there = await versionOf(found);
    if (there === PULUMI_VERSION) return realpathSync(found);
    say(
      `${found} has version ${there ?? "unknown"}, but this project needs exactly ${PULUMI_VERSION}: not used`,
    );
  }
  const folder = path.join(cacheFolder(), "pulumi", PULUMI_VERSION);
  await cached(folder, async (partial) => {
    if (!(await download(partial))) await build(partial);
    const made = await versionOf(path.join(partial, "pulumi"));
    if (made !== PULUMI_VERSION) {
      throw new PermanentError({
        reason: "PulumiVersion",
        where: "pulumi",
        message: `the CLI says version ${made ?? "unknown"} instead of ${PULUMI_VERSION}`,
        remedy: `Install Pulumi ${PULUMI_VERSION} yourself so that it is on PATH.`,
      });
    }
  });
  return path.join(folder, "pulumi");
}

/** The first executable `name` in the folders of PATH, our own folder left out. */
export function findOnPath(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(path.delimiter)
    .filter((folder) => folder !== "" && path.resolve(folder) !== binFolder)
    .map((folder) => path.join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  if (!existsSync(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function versionOf(cli: string): Promise<string | undefined> {
  const env = { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  return parseVersion((await capture(cli, ["version"], { env })).stdout);
}

/** Fills `folder` from the official download; false where that cannot be reached within 10 s. */
async function download(folder: string): Promise<boolean> {
  const url = downloadUrl(PULUMI_VERSION, process.platform, process.arch);
  if (url === undefined) return false;
  say(`about to download the Pulumi CLI: ${url}`);
  const archive = path.join(folder, "pulumi.tar.gz");
  const limits = [
    "--connect-timeout",
    "10",
    "--max-time",
    "900",
    "--speed-limit",
    "1000",
    "--speed-time",
    "30",
  ];
  const fetched = await withProgress("download of the Pulumi CLI", undefined, () =>
    capture("curl", ["-fsSL", ...limits, "-o", archive, url], { timeoutMs: 920_000 }),
  );
  if (fetched.status !== 0) {
    say(`no download: ${fetched.stderr.trim()}`);
    await rm(archive, { force: true });
    return false;
  }
  const names = ["pulumi", "pulumi-language-nodejs"];
  await step("unpacking the Pulumi CLI", "tar", [
    "-xzf",
    archive,
    "-C",
    folder,
    "--strip-components=1",
    ...names.map((name) => `pulumi/${name}`),
  ]);
  await rm(archive);
  return true;
}

/** Builds the CLI from Pulumi's own Go modules into `folder`. */
async function build(folder: string): Promise<void> {
  if (findOnPath("go", process.env.PATH ?? "") === undefined) {
    throw new PermanentError({
      reason: "PulumiMissing",
      where: "pulumi",
      message: `Pulumi ${PULUMI_VERSION} is not on PATH, cannot be downloaded, and there is no Go to build it with`,
      remedy: `Install Pulumi ${PULUMI_VERSION} (https://www.pulumi.com/docs/install/versions/) or Go, then run this again.`,
    });
  }
  say(`about to build the Pulumi CLI ${PULUMI_VERSION} with Go (once: about 6 minutes on two cores)`);
  const module = path.join(folder, "module");
  await cp(path.join(root, "tools/pulumi/go"), module, { recursive: true });
  const stamp = `-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v${PULUMI_VERSION}`;
  const main = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi";
  await step(
    "go build of the Pulumi CLI",
    "go",
    ["build", "-trimpath", "-ldflags", `-s -w ${stamp}`, "-o", path.join(folder, "pulumi"), main],
    {
      cwd: module,
      expect: "about 6 minutes on two cores",
      remedy: "Check that Go's module proxy can be reached (go env GOPROXY), then run this again.",
    },
  );
  await rm(module, { recursive: true });
}
