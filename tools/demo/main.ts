/** `npm run demo`: the whole way from nothing to requests through proxies of one's own. */
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { binFolder, demoFolder, root } from "../common/paths";
import { capture, status } from "../common/process";
import { main, say } from "../common/say";
import { guestImage, linkImage } from "../image/image";
import { demoEnvironment } from "../pulumi/environment";
import { setUpPulumi } from "../pulumi/setup";
import { type DemoConfig, demoConfig } from "./config";
import { demoLab } from "./lab";
import { curlThrough, type ProxyOutput, proxiesOutput, requestThrough } from "./request";

const STACK = "dev";
const pulumi = path.join(binFolder, "pulumi");
const env = demoEnvironment(process.env);

main(async () => {
  const config = demoConfig(readFileSync(path.join(root, `Pulumi.${STACK}.yaml`), "utf8"));
  mkdirSync(path.join(demoFolder, "state"), { recursive: true });
  await setUpPulumi();
  await host(config);

  await pulumiStep(["stack", "select", "--create", STACK]);
  say("pulumi up: machines that are new answer after 1 to 2 minutes, without KVM acceleration after 2 to 4");
  await pulumiStep(["up", "--yes", "--stack", STACK]);

  const proxies = await outputs();
  const failed = await requestThroughEach(proxies, config);
  howToGoOn(proxies, config);
  return failed === 0 ? 0 : 1;
});

async function host(config: DemoConfig): Promise<void> {
  await linkImage(await guestImage(), path.join(demoFolder, "images"));
  if (config.labNumber === undefined) {
    say(`host ${config.host ?? "(none)"} is not the lab's: the demo uses your own and starts no lab`);
    return;
  }
  const { lab, target } = demoLab(config.labNumber, demoFolder);
  await lab.up();
  await target.up();
  say(`lab host: ${lab.address}, a libvirtd and sshd of its own on this machine`);
}

async function pulumiStep(args: string[]): Promise<void> {
  const code = await status(pulumi, args, { cwd: root, env });
  if (code === 0) return;
  throw new PermanentError({
    reason: "PulumiFailed",
    where: `pulumi ${args.join(" ")}`,
    message: `ended with status ${code}`,
    remedy:
      "Read its lines above. After a killed run `npm run pulumi -- cancel --yes` unlocks the stack; " +
      "`npm run demo:down` takes everything away.",
  });
}

async function outputs(): Promise<ProxyOutput[]> {
  const answer = await capture(pulumi, ["stack", "output", "proxies", "--json", "--stack", STACK], {
    cwd: root,
    env,
  });
  const parsed = answer.status === 0 ? proxiesOutput.safeParse(JSON.parse(answer.stdout)) : undefined;
  if (parsed?.success) return parsed.data;
  throw new PermanentError({
    reason: "NoProxies",
    where: `stack ${STACK}`,
    message: `its output "proxies" cannot be read: ${parsed?.error.message ?? answer.stderr.trim()}`,
    remedy: "Look at it with npm run pulumi -- stack output proxies --json.",
  });
}

async function requestThroughEach(proxies: ProxyOutput[], config: DemoConfig): Promise<number> {
  console.log("\nA request through each proxy:");
  let failed = proxies.length === 0 ? 1 : 0;
  for (const proxy of proxies) {
    const check = config.checks.get(proxy.pool);
    if (check === undefined) continue;
    const result = await requestThrough(proxy.url, check.url);
    const good = result === check.expectedStatus;
    if (!good) failed += 1;
    console.log(`  ${proxy.name}  ${proxy.url}  ${check.url}  ${good ? `${result} OK` : `${result} FAILED`}`);
  }
  return failed;
}

function howToGoOn(proxies: ProxyOutput[], config: DemoConfig): void {
  const [first] = proxies;
  const url = first && config.checks.get(first.pool)?.url;
  if (first && url) console.log(`\nTry one yourself:\n  curl -i ${curlThrough(first.url, url).join(" ")}`);
  console.log(`
How to go on:
  npm run pulumi -- refresh --yes     the health check: looks at every machine and asks through every proxy
  npm run pulumi -- preview           what a change in Pulumi.${STACK}.yaml would do
  npm run pulumi -- up --yes          do it
  npm run pulumi -- destroy --yes     delete the machines, keep the lab
  npm run demo:down                   take everything away again

With a KVM host of your own: in Pulumi.${STACK}.yaml set address, user and keyFile of
egress:providers.lab.hosts[0] (and take knownHostsFile out, to use your own ~/.ssh/known_hosts), put your
network into allowedClients, take healthCheck and allowedDestinations out, since the check's target is the
lab's. Then npm run demo again; no lab is started.`);
}
