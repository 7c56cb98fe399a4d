import { createRequire } from "node:module";
import path from "node:path";
import type { RunRequest } from "@pulumi/pulumi/proto/language_pb";

/** The status with which the SDK's runner says: I failed, and the user has been told why. */
export const BAIL_STATUS = 32;

/** What of a Run call decides how the program is started. */
export interface ProgramStart {
  pwd: string;
  entry: string;
  args: string[];
  rootDirectory: string;
  organization: string;
  project: string;
  stack: string;
  dryRun: boolean;
  parallel: number;
  monitorAddress: string;
  config: Iterable<[key: string, value: string]>;
  secretKeys: string[];
}

export function programStart(request: RunRequest): ProgramStart {
  const info = request.getInfo();
  return {
    pwd: request.getPwd(),
    entry: info?.getEntryPoint() || request.getProgram() || ".",
    args: request.getArgsList(),
    rootDirectory: info?.getRootDirectory() || request.getPwd(),
    organization: request.getOrganization(),
    project: request.getProject(),
    stack: request.getStack(),
    dryRun: request.getDryrun(),
    parallel: request.getParallel(),
    monitorAddress: request.getMonitorAddress(),
    config: request.getConfigMap().toArray(),
    secretKeys: request.getConfigsecretkeysList(),
  };
}

/** The arguments of node: the runner of the SDK that the program itself uses, its flags, the program. */
export function programArguments(start: ProgramStart, runner: string, engineAddress: string): string[] {
  const flags: Record<string, string> = {
    monitor: start.monitorAddress,
    engine: engineAddress,
    organization: start.organization,
    project: start.project,
    stack: start.stack,
    "root-directory": start.rootDirectory,
    pwd: start.pwd,
    parallel: String(start.parallel),
  };
  return [
    runner,
    ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
    ...(start.dryRun ? ["--dry-run"] : []),
    start.entry,
    ...start.args,
  ];
}

/** The environment in which the SDK finds the stack's config: keys as `namespace:config:key`. */
export function programEnvironment(
  start: ProgramStart,
): Record<"PULUMI_CONFIG" | "PULUMI_CONFIG_SECRET_KEYS", string> {
  const config = Object.fromEntries([...start.config].map(([key, value]) => [configKey(key), value]));
  return {
    PULUMI_CONFIG: JSON.stringify(config),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(start.secretKeys.map(configKey)),
  };
}

/** `egress:pools` is `egress:config:pools` for the SDK; a key in that form already is left alone. */
export function configKey(key: string): string {
  const [namespace, ...rest] = key.split(":");
  const name = rest[0] === "config" && rest.length > 1 ? rest.slice(1) : rest;
  return [namespace, "config", ...name].join(":");
}

/** A module of the SDK as seen from `directory`, so that program and runner share one SDK. */
export function resolveFrom(directory: string, request: string): string {
  return createRequire(path.join(directory, "resolve.js")).resolve(request);
}

/** What a person is told where node could not be started with this config. */
export function startFailure(error: unknown, config: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if ((error as NodeJS.ErrnoException).code !== "E2BIG") return `node could not be started: ${message}`;
  // One string of an environment holds at most 128 KiB on Linux (MAX_ARG_STRLEN, execve(2)).
  const size = Math.ceil(Buffer.byteLength(config) / 1024);
  return (
    `the stack's config has ${size} KiB, and a program can be given at most 128 KiB of it: ` +
    "move long texts into files, such as user-data into one that `cloudInit.file` names"
  );
}
