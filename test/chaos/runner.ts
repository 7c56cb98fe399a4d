import { randomBytes } from "node:crypto";
import { kvmBackend } from "@egress-proxies/providers/kvm/backend";
import { publishedBase } from "@egress-proxies/providers/kvm/base";
import { dialer } from "@egress-proxies/providers/kvm/dial";
import { sharedBase } from "@egress-proxies/providers/kvm/naming";
import { HostSessions } from "@egress-proxies/providers/kvm/sessions";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import { noEngine } from "@egress-proxies/providers/pulumi/engine";
import { guard } from "@egress-proxies/providers/pulumi/guard";
import type { Answer, Job } from "./provider-process";

const sessions = new HostSessions(dialer(), systemClock);
/** As in a provider process, but for the engine and its gRPC, which take a second to load. */
const provider = guard(
  kvmBackend({
    withSession: (host, work) => sessions.use(host, work),
    baseOf: sharedBase,
    ensureBase: publishedBase(sharedBase),
    random: () => randomBytes(4).toString("hex"),
  }),
  noEngine,
);

/** Does what the engine asks of a provider process: each job through the backend's own guard. */
async function run(job: Job): Promise<unknown> {
  switch (job.method) {
    case "create":
      return provider.create(job.news);
    case "read":
      return provider.read?.(job.resource, job.olds);
    case "update":
      return provider.update?.(job.resource, job.olds, job.news);
    case "delete":
      return provider.delete?.(job.resource, job.olds);
  }
}

process.on("message", ({ id, job }: { id: number; job: Job }) => {
  const answer = (rest: Omit<Answer, "id">) => process.send?.({ id, ...rest } satisfies Answer);
  run(job).then(
    (value) => answer({ value }),
    (error: Error & { reasons?: string[] }) =>
      answer({ error: error.message, initFailed: error.reasons !== undefined }),
  );
});
