import { say } from "../common/say";
import { assembleBin } from "./bin";
import { pulumiCli } from "./cli";
import { PULUMI_VERSION } from "./version";

/** The Pulumi CLI and its plugins, ready in one folder. */
export async function setUpPulumi(): Promise<string> {
  const cli = await pulumiCli();
  const folder = await assembleBin(cli);
  say(`Pulumi ${PULUMI_VERSION}: ${cli}`);
  return folder;
}
