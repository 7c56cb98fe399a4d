import { accessSync, constants, readFileSync } from "node:fs";
import {
  all,
  getOrganization,
  getProject,
  getStack,
  log,
  type Output,
  output,
  RunError,
  runtime,
} from "@pulumi/pulumi";
import { ConfigError } from "./config/error";
import { readUserDataFiles } from "./config/files";
import { parseConfig } from "./config/parse";
import type { Problem } from "./config/problem";
import { configWarnings } from "./config/warnings";
import { hostFileWarnings } from "./host-files";
import { inPlaceProblems } from "./plan/in-place";
import { plan } from "./plan/plan";
import { type Endpoint, type PoolStatus, ProxyPool } from "./pool";
import { NOTHING_BEFORE, type Previous, placementsOf, readPrevious } from "./previous";
import { rawConfig, secretKeys } from "./raw-config";

/** What the stack exports. */
export interface StackOutputs {
  proxies: Output<Endpoint[]>;
  /** `http://ip:port` of every proxy whose address is known. */
  urls: Output<string[]>;
  pools: Output<PoolStatus[]>;
}

export interface ProgramOptions {
  /** What the last deployment left. Default: the stack's own state is asked. */
  previous?: () => Promise<Previous>;
}

/** Checks the stack's config, then builds its pools. */
export async function deploy({ previous = ownState }: ProgramOptions = {}): Promise<StackOutputs> {
  const context = { project: getProject(), stack: getStack() };
  const raw = rawConfig(runtime.allConfig());
  const { files, problems } = readUserDataFiles(raw.pools, (path) => readFileSync(path));
  const parsed = parseConfig(raw, context);
  if ("problems" in parsed) return refuse([...parsed.problems, ...problems]);
  if (problems.length > 0) return refuse(problems);

  const { config } = parsed;
  const warnings = [
    ...configWarnings(config, { files, secretKeys: secretKeys(process.env) }),
    ...hostFileWarnings(config, (path) => accessSync(path, constants.R_OK)),
  ];
  await Promise.all(warnings.map((warning) => log.warn(warning)));

  const before = await orNothing(previous);
  const planned = plan(config, { ...context, previous: placementsOf(before), files });
  const unmovable = inPlaceProblems(planned, before);
  if (unmovable.length > 0) return refuse(unmovable);

  const pools = planned.map(
    ({ name, proxies, maxUnavailable }) =>
      new ProxyPool(name, {
        members: Object.fromEntries(proxies.map((proxy) => [proxy.member, proxy])),
        maxUnavailable,
        standing: proxies.filter((proxy) => before.machines.has(proxy.name)).map(({ member }) => member),
      }),
  );
  const proxies = all(pools.map(({ endpoints }) => endpoints)).apply((endpoints) => endpoints.flat());
  return { proxies, urls: output(proxies).apply(urlsOf), pools: all(pools.map(({ status }) => status)) };
}

function ownState(): Promise<Previous> {
  return readPrevious(getOrganization(), getProject(), getStack());
}

/** What cannot be read stops nobody from deploying; it costs the promise that machines stay where they are. */
async function orNothing(previous: () => Promise<Previous>): Promise<Previous> {
  try {
    return await previous();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await log.warn(
      `The stack's last state cannot be read: ${why}. Machines are placed as if the stack were new: look at ` +
        "the preview before you go on, and pin members with placement.host where they would move; a change also " +
        "rebuilds all members of a pool at once.",
    );
    return NOTHING_BEFORE;
  }
}

function urlsOf(proxies: Endpoint[]): string[] {
  return proxies.map(({ url }) => url).filter((url) => url !== "");
}

/** A RunError is shown to people without a stack trace. */
function refuse(problems: Problem[]): never {
  const error = new RunError(new ConfigError(problems).message);
  // The SDK inspects what it is thrown, stack and all, which has taken it half a minute and more.
  error.stack = error.message;
  throw error;
}
