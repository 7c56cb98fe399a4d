import type { KvmHost } from "@egress-proxies/providers/machine/spec";
import { step } from "../tools/common/process";
import { seconds } from "./rounds";

/** Beside the pool, so that libvirtd's looks at the pool do not find it. */
const TARGET = "/var/lib/libvirt/bench-scp";

/** Seconds that OpenSSH takes for the same bytes to the same host and file system. */
export async function scpSeconds(host: KvmHost, file: string): Promise<number> {
  const taken = await seconds(() =>
    step("scp", "scp", ["-q", ...options(host), file, `${host.user}@${host.address}:${TARGET}`]),
  );
  await step("ssh", "ssh", [...options(host), `${host.user}@${host.address}`, "rm", TARGET]);
  return taken;
}

function options({ keyFile, knownHostsFile }: KvmHost): string[] {
  return [
    "-F",
    "none",
    "-o",
    "BatchMode=yes",
    "-i",
    `${keyFile}`,
    "-o",
    `UserKnownHostsFile=${knownHostsFile}`,
  ];
}
