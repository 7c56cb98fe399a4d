/** `npm run demo:down`: takes away what `npm run demo` made, however far it came. */
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { binFolder, demoFolder, root } from "../common/paths";
import { status } from "../common/process";
import { main, say } from "../common/say";
import { demoEnvironment } from "../pulumi/environment";
import { demoConfig } from "./config";
import { demoLab } from "./lab";

const STACK = "dev";
const pulumi = path.join(binFolder, "pulumi");

main(async () => {
  const { labNumber } = demoConfig(readFileSync(path.join(root, `Pulumi.${STACK}.yaml`), "utf8"));
  const destroyed = await destroy();
  if (labNumber !== undefined) {
    if (!destroyed) say("pulumi destroy failed: the lab host is taken away with the machines on it");
    const { lab, target } = demoLab(labNumber, demoFolder);
    target.down();
    await lab.down();
  } else if (!destroyed) {
    throw new PermanentError({
      reason: "DestroyFailed",
      where: "pulumi destroy",
      message: "machines may still run on your host; their state stays in .lab/state",
      remedy: "Mend what the lines above say, then run npm run demo:down again.",
    });
  }
  await rm(demoFolder, { recursive: true, force: true });
  say("the demo is gone; the cache of the Pulumi CLI and the guest image stays");
  return 0;
});

/** True if no machine of the stack is left, as far as Pulumi knows. */
async function destroy(): Promise<boolean> {
  const stackFile = path.join(demoFolder, "state/.pulumi/stacks/egress-proxies", `${STACK}.json`);
  if (!existsSync(stackFile) || !existsSync(pulumi)) return !existsSync(stackFile);
  const run = (args: string[]) =>
    status(pulumi, [...args, "--stack", STACK], { cwd: root, env: demoEnvironment(process.env) });
  if ((await run(["destroy", "--yes"])) === 0) return true;
  // A demo that was killed leaves the stack locked.
  return (await run(["cancel", "--yes"])) === 0 && (await run(["destroy", "--yes"])) === 0;
}
