/**
 * `npm run orphans -- [--stack NAME] [--delete [--yes] [--bases]] [--grace HOURS] [--json]`
 * Lists what is ours on the hosts of a stack's config and in no stack of the backend; deletes it where asked to.
 */
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { dialer } from "@egress-proxies/providers/kvm/dial";
import { callLog } from "@egress-proxies/providers/log/call-log";
import { openLog } from "@egress-proxies/providers/log/logger";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { SshPool } from "@egress-proxies/providers/ssh/index";
import { main } from "../common/say";
import { fleetOf } from "../fleet/hosts";
import { Project } from "../fleet/project";
import { knownOf } from "./known";
import { json, report } from "./report";
import { exportStacks } from "./stacks";
import { type Placed, removeOrphan, type Survey, survey } from "./survey";

const DEFAULT_GRACE_HOURS = 24;

main(async () => {
  const { values } = parseArgs({
    options: {
      stack: { type: "string" },
      delete: { type: "boolean", default: false },
      yes: { type: "boolean", default: false },
      bases: { type: "boolean", default: false },
      grace: { type: "string", default: String(DEFAULT_GRACE_HOURS) },
      json: { type: "boolean", default: false },
    },
  });
  const project = new Project(process.cwd());
  const fleet = fleetOf(project.providersOf(await project.stackName(values.stack)));
  const images = fleet.flatMap((host) => host.images);
  const ssh = new SshPool({ idleMs: 0 });
  const log = openLog(process.env, (message) => console.error(message));
  const dial = dialer(ssh, callLog(log));
  const graceMs = graceOf(values.grace);
  const look = () =>
    survey(fleet, dial, async () => knownOf(await exportStacks(project), images), {
      project: project.name,
      now: Date.now(),
      graceMs,
      bases: values.bases,
    });
  try {
    const found = await look();
    console.log(values.json ? json(found) : report(found));
    if (!values.delete) return found.failed.length === 0 ? 0 : 1;
    refuseUnlessWhole(found);
    const doomed = found.orphans.filter(({ keep }) => keep === undefined);
    if (doomed.length === 0) {
      console.error("Nothing is to be deleted.");
      return 0;
    }
    if (!values.yes) {
      if (!(await confirmed(doomed.length))) return 1;
      // Time has passed: a run may have taken one of them back.
      const again = await look();
      refuseUnlessWhole(again);
      const still = new Set(again.orphans.filter(({ keep }) => keep === undefined).map(identity));
      return await removeAll(doomed.filter((orphan) => still.has(identity(orphan))));
    }
    return await removeAll(doomed);
  } finally {
    await ssh.closeAll();
  }

  async function removeAll(doomed: Placed[]): Promise<number> {
    let failures = 0;
    for (const orphan of doomed) {
      try {
        await removeOrphan(orphan, dial);
        console.error(`deleted: ${orphan.kind} ${orphan.name} on host ${orphan.host.name}`);
      } catch (error) {
        failures += 1;
        console.error(`not deleted: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return failures === 0 ? 0 : 1;
  }
}, "orphans");

function identity({ kind, name, host }: Placed): string {
  return JSON.stringify([host.name, kind, name]);
}

function graceOf(text: string): number {
  const hours = Number(text);
  if (text.trim() !== "" && Number.isFinite(hours) && hours >= 0) return hours * 3_600_000;
  throw new PermanentError({
    reason: "WrongUsage",
    where: "--grace",
    message: `"${text}" is no number of hours`,
    remedy: "Give hours, such as 24 or 0.5",
  });
}

/** Whoever could not be asked may be using it. */
function refuseUnlessWhole({ failed }: Survey): void {
  if (failed.length === 0) return;
  throw new PermanentError({
    reason: "HostsUnread",
    where: failed.map(({ host }) => `host ${host}`).join(", "),
    message: "not every host could be looked at, so nothing is deleted",
    remedy: "Bring the host back, or take it out of the config",
  });
}

async function confirmed(count: number): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new PermanentError({
      reason: "WrongUsage",
      where: "--delete",
      message: "nobody is there to confirm it",
      remedy: "Read the list, then add --yes",
    });
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await prompt.question(`Delete ${count} for ever? Type yes: `)).trim() === "yes";
  } finally {
    prompt.close();
  }
}
