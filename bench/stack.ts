import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { stringify } from "yaml";
import { root } from "../tools/common/paths";
import { capture } from "../tools/common/process";
import { pulumiEnvironment } from "../tools/pulumi/environment";
import { seconds } from "./rounds";

const TIMEOUT_MS = 600_000;
const STACK = "bench";

/** A project of its own with one stack, driven by the real CLI with a backend in its folder. */
export class Stack {
  private constructor(
    private readonly folder: string,
    private readonly cacheDir: string,
  ) {}

  /** @param program the compiled program, from the checkout's root */
  static async make(
    parent: string,
    project: string,
    program: string,
    config: Record<string, unknown>,
  ): Promise<Stack> {
    const folder = mkdtempSync(path.join(parent, `${project}-`));
    for (const name of ["node_modules", "dist"]) symlinkSync(path.join(root, name), path.join(folder, name));
    mkdirSync(path.join(folder, "state"));
    const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
    write("package.json", JSON.stringify({ name: project, main: program }));
    write(
      "Pulumi.yaml",
      stringify({ name: project, runtime: { name: "nodejs", options: { typescript: false } } }),
    );
    const stack = new Stack(folder, path.join(parent, "cache"));
    await stack.pulumi("stack", "init", STACK);
    write(`Pulumi.${STACK}.yaml`, stringify({ config }));
    return stack;
  }

  /** Each takes as many seconds as a person waits for it, the CLI's own start included. */
  up(): Promise<number> {
    return seconds(() => this.pulumi("up", "--yes", "--skip-preview"));
  }

  refresh(): Promise<number> {
    return seconds(() => this.pulumi("refresh", "--yes", "--skip-preview"));
  }

  destroy(): Promise<number> {
    return seconds(() => this.pulumi("destroy", "--yes", "--skip-preview"));
  }

  /** The state's resources. */
  async resources(): Promise<{ type: string }[]> {
    const state = JSON.parse(await this.pulumi("stack", "export")) as {
      deployment: { resources?: { type: string }[] };
    };
    return state.deployment.resources ?? [];
  }

  /** Destroys what is left, so that nothing stays on the host, and removes the folder. */
  async dispose(): Promise<void> {
    try {
      await this.destroy();
    } finally {
      rmSync(this.folder, { recursive: true });
    }
  }

  private async pulumi(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await capture(
      "pulumi",
      [...args, "--non-interactive", "--color", "never"],
      {
        cwd: this.folder,
        env: pulumiEnvironment({
          ...process.env,
          PULUMI_BACKEND_URL: `file://${path.join(this.folder, "state")}`,
          PULUMI_CONFIG_PASSPHRASE: "bench",
          EGRESS_CACHE: this.cacheDir,
        }),
        timeoutMs: TIMEOUT_MS,
      },
    );
    if (status === 0) return stdout;
    throw new PermanentError({
      reason: "PulumiFailed",
      where: `pulumi ${args.join(" ")}`,
      message: `ended with status ${status}:\n${stdout}${stderr}`,
    });
  }
}
