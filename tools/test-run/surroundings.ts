import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { cacheFolder, root } from "../common/paths";
import { ownedProcess } from "../common/pid-file";
import { capture, withProgress } from "../common/process";
import { guestImage } from "../image/image";
import { labAddresses } from "../lab/addresses";
import { Lab } from "../lab/lab";
import { setUpPulumi } from "../pulumi/setup";
import { Target } from "../target/target";

const DEFAULT_LAB_NUMBER = 20;

/** What tests against real daemons find in their environment, and how it is taken away. */
export interface Surroundings {
  env: Record<string, string>;
  down: () => Promise<void>;
}

/**
 * A lab host of the tests' own, its target, image, Pulumi and parsers.
 * EGRESS_LAB_NUMBER (default 20) picks the lab's networks, so that two runs on one machine can be kept apart.
 */
export async function bringUp(): Promise<Surroundings> {
  const number = Number(process.env.EGRESS_LAB_NUMBER ?? DEFAULT_LAB_NUMBER);
  const folder = path.join(os.tmpdir(), `egress-test-${number}`);
  const runner = path.join(folder, "runner.pid");
  const other = ownedProcess(runner, "test-run");
  if (other !== undefined) {
    throw new PermanentError({
      reason: "LabTaken",
      where: `lab ${number}`,
      message: `the test run of process ${other} uses it`,
      remedy: "Wait for its end, or set EGRESS_LAB_NUMBER to another number from 1 to 150.",
    });
  }
  const bin = await setUpPulumi();
  const image = await guestImage();
  const parsers = await installParsers();

  const lab = new Lab("egress-test", number, folder);
  const target = new Target(labAddresses(number).near, folder);
  const down = async () => {
    target.down();
    await lab.down();
    rmSync(folder, { recursive: true, force: true });
  };
  await down(); // what a killed run left
  mkdirSync(folder, { recursive: true });
  writeFileSync(runner, `${process.pid}\n`);
  try {
    await lab.up();
    await target.up();
  } catch (error) {
    await down();
    throw error;
  }
  return {
    env: {
      EGRESS_TEST_LIBVIRT_SOCKET: lab.libvirtSocket,
      EGRESS_TEST_LAB: folder,
      EGRESS_TEST_HOST: lab.address,
      EGRESS_TEST_TARGET: target.url,
      EGRESS_TEST_IMAGE: image,
      EGRESS_TEST_PARSERS: parsers,
      EGRESS_TEST_BIN: bin,
    },
    down,
  };
}

/** squid's and cloud-init's own parsers, which some tests ask about what we render. */
async function installParsers(): Promise<string> {
  const script = path.join(root, "tools/parsers.sh");
  if (!existsSync(script)) return "";
  const folder = path.join(cacheFolder(), "parsers");
  mkdirSync(folder, { recursive: true });
  const answer = await withProgress("installing the parsers of squid and cloud-init", undefined, () =>
    capture("bash", [script, folder], { timeoutMs: 600_000 }),
  );
  if (answer.status === 0) return answer.stdout.trim().split("\n").at(-1) ?? "";
  throw new PermanentError({
    reason: "ParsersMissing",
    where: "tools/parsers.sh",
    message: `ended with status ${answer.status}: ${answer.stderr.trim()}`,
    remedy: "Check that a Debian mirror can be reached, then run this again.",
  });
}
