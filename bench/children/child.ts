import { dialer } from "@egress-proxies/providers/kvm/dial";
import { HostSession } from "@egress-proxies/providers/kvm/session";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { SshPool } from "@egress-proxies/providers/ssh/pool";
import type { ChildResult } from "../child";

/** Runs `work` on the host of the job that the parent gave, and prints how long it took and how much memory. */
export async function measureChild<Job extends { host: KvmHost }>(
  work: (job: Job, session: HostSession) => Promise<void>,
): Promise<void> {
  const job = JSON.parse(process.argv[2] ?? "") as Job;
  const ssh = new SshPool();
  const session = new HostSession(job.host, dialer(ssh), systemClock);
  try {
    const began = performance.now();
    await work(job, session);
    const result: ChildResult = {
      seconds: (performance.now() - began) / 1000,
      peakMiB: process.resourceUsage().maxRSS / 1024,
    };
    process.stdout.write(JSON.stringify(result));
  } finally {
    await session.close();
    await ssh.closeAll();
  }
}
