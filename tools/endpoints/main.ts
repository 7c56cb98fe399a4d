/** `npm run -s endpoints -- [--format urls|json|env] [--stack STACK] [--pool POOL] [--all]` */
import path from "node:path";
import { parseArgs } from "node:util";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { binFolder, root } from "../common/paths";
import { capture } from "../common/process";
import { main } from "../common/say";
import { pulumiEnvironment } from "../pulumi/environment";
import { type Endpoint, FORMATS, type Format, proxiesOutput, usable, withLastChecks } from "./format";

const USAGE = "npm run -s endpoints -- [--format urls|json|env] [--stack STACK] [--pool POOL] [--all]";

interface Options {
  format: Format;
  /** Default: the stack that `pulumi stack select` has chosen. */
  stack: string | undefined;
  /** Default: every pool. */
  pool: string | undefined;
  /** Also those that are not ready or not given out. */
  all: boolean;
}

main(async () => {
  const options = optionsOf(process.argv.slice(2));
  const known = await endpointsOf(options.stack);
  const asked = known.filter(({ pool }) => options.pool === undefined || pool === options.pool);
  const chosen = options.all ? asked.filter(({ url }) => url !== "") : usable(asked);
  if (chosen.length === 0) throw nothingToUse(options, known, asked);
  if (chosen.length < asked.length)
    console.error(`${asked.length - chosen.length} of ${asked.length} proxies are left out: see --all.`);
  process.stdout.write(FORMATS[options.format](chosen));
  return 0;
}, "endpoints");

function optionsOf(args: string[]): Options {
  try {
    const { values } = parseArgs({
      args,
      options: {
        format: { type: "string", default: "urls" },
        stack: { type: "string" },
        pool: { type: "string" },
        all: { type: "boolean", default: false },
      },
    });
    const { format, stack, pool, all } = values;
    if (!isFormat(format)) throw new TypeError(`there is no format ${format}`);
    return { format, stack, pool, all };
  } catch (error) {
    throw new PermanentError({
      reason: "WrongUsage",
      where: "endpoints",
      message: error instanceof Error ? error.message : String(error),
      remedy: `Usage: ${USAGE}`,
    });
  }
}

function isFormat(text: string): text is Format {
  return Object.hasOwn(FORMATS, text);
}

/** Reads the stack's outputs and its checks; nothing is deployed and no host is asked. */
async function endpointsOf(stack: string | undefined): Promise<Endpoint[]> {
  const pulumi = (...args: string[]) =>
    capture(
      path.join(binFolder, "pulumi"),
      ["stack", ...args, "--non-interactive", ...(stack === undefined ? [] : ["--stack", stack])],
      { cwd: root, env: pulumiEnvironment(process.env) },
    );
  const [output, exported] = await Promise.all([pulumi("output", "proxies", "--json"), pulumi("export")]);
  const read = output.status === 0 && exported.status === 0;
  const parsed = read ? proxiesOutput.safeParse(JSON.parse(output.stdout)) : undefined;
  if (parsed?.success) return withLastChecks(parsed.data, JSON.parse(exported.stdout));
  const stderr = `${output.stderr}${exported.stderr}`;
  throw new PermanentError({
    reason: "NoProxies",
    where: `stack ${stack ?? "that is selected"}`,
    message: `its output "proxies" cannot be read: ${parsed?.error.message ?? stderr.trim()}`,
    remedy: "Name the stack with --stack; after a first `pulumi up` it has this output.",
  });
}

/** A crawler must not take an empty list for leave to go without a proxy. */
function nothingToUse(
  { pool, all }: Options,
  known: readonly Endpoint[],
  asked: readonly Endpoint[],
): PermanentError {
  const pools = [...new Set(known.map((endpoint) => endpoint.pool))].join(", ");
  const remedy =
    asked.length === 0
      ? `Choose among the pools that there are: ${pools === "" ? "none" : pools}.`
      : "Run `pulumi refresh` to check them again; `pulumi up` repairs what it can.";
  return new PermanentError({
    reason: "NoEndpoints",
    where: pool === undefined ? "every pool" : `pool ${pool}`,
    message: all ? "no proxy has an address" : `none of ${asked.length} proxies is ready and given out`,
    remedy,
  });
}
