import { Stack } from "../e2e/stack";
import type { ChaosImage, ChaosStack, Run } from "./stack";

/** A stack that the real CLI drives, from the config to the provider process. */
export class CliStack implements ChaosStack {
  readonly project = "egress-proxies";
  readonly machines: readonly string[];

  /** A killed run leaves its lock behind. */
  private locked = false;

  private constructor(
    private readonly stack: Stack,
    private readonly host: Record<string, unknown>,
    private readonly size: number,
  ) {
    this.machines = Array.from({ length: size }, (_, index) => `${stack.name}-pool-${index + 1}`);
  }

  static async open(name: string, host: Record<string, unknown>, size: number): Promise<CliStack> {
    const stack = new Stack(name);
    await stack.init();
    return new CliStack(stack, host, size);
  }

  get name(): string {
    return this.stack.name;
  }

  up({ key, url, sha256 }: ChaosImage): Run {
    this.stack.configure({
      providers: {
        lab: {
          type: "kvm",
          hosts: [this.host],
          images: { [key]: { url, sha256 } },
          machineTypes: { tiny: { vcpus: 1, memoryMiB: 64, diskGiB: 1, firmware: "bios" } },
        },
      },
      pools: {
        pool: {
          provider: "lab",
          size: this.size,
          wait: "started",
          placement: { machineType: "tiny", image: key },
          cloudInit: { inline: "#cloud-config\n" },
        },
      },
    });
    return this.run("up", "--yes", "--skip-preview");
  }

  destroy(): Run {
    return this.run("destroy", "--yes", "--skip-preview");
  }

  async close(): Promise<void> {
    this.stack.dispose();
  }

  private run(...args: string[]): Run {
    let child: ReturnType<Stack["start"]>["child"] | undefined;
    let killed = false;
    const work = async () => {
      if (this.locked) await this.stack.pulumi("cancel", "--yes");
      this.locked = false;
      if (killed) return ["killed"];
      const started = this.stack.start(...args);
      child = started.child;
      const { code, text } = await started.result;
      if (killed) return ["killed"];
      return code === 0 ? [] : [text];
    };
    return {
      ended: work(),
      kill: () => {
        killed = true;
        this.locked = true;
        child?.kill("SIGKILL");
      },
    };
  }
}
