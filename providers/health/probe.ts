import { dial } from "./dial";
import { REMEDIES } from "./reasons";
import {
  type ProbeEnvironment,
  type ProbeReport,
  type ProbeRequest,
  StageFailure,
  type StageName,
  type StageResult,
  title,
} from "./report";
import {
  reachesTarget,
  refusesOutsiders,
  refusesPrivateDestination,
  type Skipped,
  type StageContext,
} from "./stages";

/**
 * Looks at one proxy from the outside, stage by stage, and stops at the first
 * that fails. It talks to the proxy's address alone, never to the target and
 * never to a name server about the target. All of it together takes at most
 * `timeoutSeconds`.
 */
export async function probeProxy(request: ProbeRequest, env: ProbeEnvironment): Promise<ProbeReport> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), request.timeoutSeconds * 1000);
  const stages: StageResult[] = [];
  const run = async (stage: StageName, work: () => Promise<Skipped | undefined>): Promise<boolean> => {
    const result = await timed(stage, work, env);
    stages.push(result);
    return result.outcome !== "failed";
  };
  try {
    const context: StageContext = { request, env, signal: deadline.signal, ourAddress: "" };
    const safe =
      (await run("tcp", async () => {
        context.ourAddress = await reach(context);
        return undefined;
      })) &&
      (await run("outsider", () => refusesOutsiders(context))) &&
      (await run("privateDestination", () => refusesPrivateDestination(context)));
    if (safe) await run("target", () => reachesTarget(context));
  } finally {
    clearTimeout(timer);
    deadline.abort();
  }
  return reportOf(request, stages);
}

/** The address by which we reach the proxy. */
async function reach({ request, signal }: StageContext): Promise<string> {
  const socket = await dial(request, signal);
  const { localAddress } = socket;
  socket.destroy();
  if (localAddress === undefined) throw new StageFailure("ConnectRefused", "closes the connection at once");
  return localAddress;
}

async function timed(
  stage: StageName,
  work: () => Promise<Skipped | undefined>,
  env: ProbeEnvironment,
): Promise<StageResult> {
  const started = env.monotonicMs();
  const ms = () => Math.round(env.monotonicMs() - started);
  try {
    const skip = await work();
    if (skip === undefined) return { stage, outcome: "passed", ms: ms() };
    const { skipped: detail, warning } = skip;
    return { stage, outcome: "skipped", ms: ms(), detail, ...(warning === undefined ? {} : { warning }) };
  } catch (error) {
    if (!(error instanceof StageFailure)) throw error;
    return { stage, outcome: "failed", ms: ms(), reason: error.reason, detail: error.detail };
  }
}

function reportOf(request: ProbeRequest, stages: StageResult[]): ProbeReport {
  const last = stages.at(-1);
  if (last?.outcome === "failed") {
    const message = `${title(request)} ${last.detail}. ${REMEDIES[last.reason]}`;
    return { stages, reason: last.reason, message };
  }
  const message = `${title(request)} passes requests on to ${request.target.url}.`;
  return { stages, reason: "Ready", message, latencyMs: last?.ms ?? 0 };
}
