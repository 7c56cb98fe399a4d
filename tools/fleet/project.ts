import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { parse } from "yaml";
import { binFolder } from "../common/paths";
import { type Captured, capture } from "../common/process";
import { pulumiEnvironment } from "../pulumi/environment";

/** The Pulumi project in a folder, read without a deployment and without a passphrase. */
export class Project {
  readonly name: string;

  /** @throws PermanentError `NoProject` */
  constructor(readonly folder: string) {
    const file = path.join(folder, "Pulumi.yaml");
    const name: unknown = existsSync(file) ? parse(readFileSync(file, "utf8"))?.name : undefined;
    if (typeof name !== "string") {
      throw new PermanentError({
        reason: "NoProject",
        where: file,
        message: "there is no Pulumi project with a name",
        remedy: "Run this in the project's folder",
      });
    }
    this.name = name;
  }

  pulumi(...args: string[]): Promise<Captured> {
    return capture(path.join(binFolder, "pulumi"), [...args, "--non-interactive", "--color", "never"], {
      cwd: this.folder,
      env: pulumiEnvironment(process.env),
    });
  }

  /**
   * The stack that is meant: the one named, else the selected one.
   * @throws PermanentError `NoStack`
   */
  async stackName(wanted: string | undefined): Promise<string> {
    if (wanted !== undefined) return wanted;
    const { status, stdout, stderr } = await this.pulumi("stack", "--show-name");
    const name = stdout.trim();
    if (status === 0 && name !== "") return name;
    throw new PermanentError({
      reason: "NoStack",
      where: this.folder,
      message: `no stack is selected${stderr.trim() === "" ? "" : ` (${stderr.trim()})`}`,
      remedy: "Name one: --stack NAME",
    });
  }

  /**
   * `egress:providers` as the stack's config file has it.
   * @throws PermanentError `ConfigUnreadable`
   */
  providersOf(stack: string): unknown {
    const file = path.join(this.folder, `Pulumi.${stack.split("/").at(-1)}.yaml`);
    try {
      return parse(readFileSync(file, "utf8"))?.config?.["egress:providers"];
    } catch (cause) {
      throw new PermanentError({
        reason: "ConfigUnreadable",
        where: file,
        message: `the stack's config cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
        remedy: "Check the stack's name and the file",
        cause,
      });
    }
  }
}
