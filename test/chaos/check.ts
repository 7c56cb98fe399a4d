import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseMarker } from "@egress-proxies/providers/images/marker";
import { markerName } from "@egress-proxies/providers/images/naming";
import { overlayName, seedName } from "@egress-proxies/providers/kvm/names";
import { DomainState } from "@egress-proxies/providers/libvirt/index";
import type { Owner } from "@egress-proxies/providers/machine/owner";
import type { ChaosHost } from "./host";
import type { ChaosImage } from "./stack";

const run = promisify(execFile);

/** What must be on the host: this base, and exactly these machines, running. */
export interface Expected {
  image: ChaosImage;
  machines: readonly Owner[];
}

/** What is not as it must be. */
export async function problems(host: ChaosHost, { image, machines }: Expected): Promise<string[]> {
  const found: string[] = [];
  const files = new Set(await host.files());
  const claimed = new Set<string>();
  const claim = (name: string, what: string) => {
    if (!files.has(name)) found.push(`${what} is missing: ${name}`);
    claimed.add(name);
    return files.has(name);
  };

  const marker =
    claim(markerName(image), "the marker") && parseMarker(await readFile(host.file(markerName(image))));
  if (marker === undefined) found.push("the marker is not whole");
  if (marker && claim(marker.volume, "the base")) {
    const bytes = createHash("sha256")
      .update(await readFile(host.file(marker.volume)))
      .digest("hex");
    if (bytes !== marker.sha256 || bytes !== image.sha256)
      found.push(
        `the base's bytes are ${bytes}, its marker says ${marker.sha256}, asked for was ${image.sha256}`,
      );
  }

  for (const owner of machines) {
    claim(seedName(owner), `the seed of ${owner.name}`);
    if (!claim(overlayName(owner), `the disk of ${owner.name}`)) continue;
    const backing = await backingFile(host.file(overlayName(owner)));
    if (!marker || backing !== join(host.directory, marker.volume))
      found.push(`the disk of ${owner.name} hangs on ${backing}, which is not published`);
  }
  for (const name of files) if (!claimed.has(name)) found.push(`nobody owns the volume ${name}`);
  found.push(...(await domainProblems(host, machines)));
  return found;
}

async function domainProblems(host: ChaosHost, machines: readonly Owner[]): Promise<string[]> {
  const found: string[] = [];
  const wanted = machines.map(({ name }) => name).sort();
  const client = await host.libvirt();
  try {
    const running: string[] = [];
    for (const domain of await client.connectListAllDomains()) {
      const { state } = await client.domainGetState(domain);
      if (state === DomainState.RUNNING) running.push(domain.name);
      else found.push(`the domain ${domain.name} is in state ${state}`);
    }
    differ("domains", running.sort(), wanted, found);
  } finally {
    await client.close();
  }
  differ("QEMU processes", await host.guests(), wanted, found);
  return found;
}

function differ(what: string, there: string[], wanted: string[], found: string[]): void {
  if (there.join() !== wanted.join())
    found.push(`${what}: ${there.join(", ")} instead of ${wanted.join(", ")}`);
}

async function backingFile(path: string): Promise<string | undefined> {
  const { stdout } = await run("qemu-img", ["info", "--force-share", "--output=json", "-f", "qcow2", path]);
  return (JSON.parse(stdout) as { "backing-filename"?: string })["backing-filename"];
}
