import type { KvmHost, KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import { JobError, ProviderProcess } from "./provider-process";
import type { ChaosImage, ChaosStack, Run } from "./stack";

interface State {
  id: string;
  outputs: object;
}

/** The engine's part of a run, played here, with a provider process of its own for every run. */
export class ForkedStack implements ChaosStack {
  readonly project = "egress-chaos";
  readonly machines: readonly string[];
  private readonly state = new Map<string, State>();
  /** Loaded ahead, since that takes longer than many a run. */
  private spare = new ProviderProcess();

  constructor(
    readonly name: string,
    private readonly host: KvmHost,
    size: number,
  ) {
    this.machines = Array.from({ length: size }, (_, index) => `${name}-pool-${index + 1}`);
  }

  up(image: ChaosImage): Run {
    return this.run((provider, machine) => this.ensure(provider, this.inputs(machine, image)));
  }

  destroy(): Run {
    return this.run(async (provider, machine) => {
      const known = this.state.get(machine);
      if (known === undefined) return;
      await provider.ask({ method: "delete", resource: known.id, olds: known.outputs });
      this.state.delete(machine);
    });
  }

  async close(): Promise<void> {
    await this.spare.end();
  }

  private run(work: (provider: ProviderProcess, machine: string) => Promise<void>): Run {
    const provider = this.spare;
    this.spare = new ProviderProcess();
    const ended = Promise.allSettled(this.machines.map((machine) => work(provider, machine))).then(
      async (results) => {
        await provider.end();
        return results.flatMap((result) =>
          result.status === "rejected"
            ? [result.reason instanceof JobError ? result.reason.message : String(result.reason.stack)]
            : [],
        );
      },
    );
    return { ended, kill: () => provider.kill() };
  }

  /** As `pulumi up --refresh`: what is known is looked at, what is not well is repaired, what is not there is made. */
  private async ensure(provider: ProviderProcess, inputs: KvmMachineInputs): Promise<void> {
    const machine = inputs.owner.name;
    const known = this.state.get(machine);
    if (known !== undefined) {
      try {
        const read = (await provider.ask({ method: "read", resource: known.id, olds: known.outputs })) as {
          id?: string;
        };
        if (read.id !== undefined) return;
        this.state.delete(machine);
      } catch (error) {
        if (!(error instanceof JobError && error.initFailed)) throw error;
        const updated = (await provider.ask({
          method: "update",
          resource: known.id,
          olds: known.outputs,
          news: inputs,
        })) as { outs: object };
        this.state.set(machine, { id: known.id, outputs: updated.outs });
        return;
      }
    }
    const created = (await provider.ask({ method: "create", news: inputs })) as {
      id: string;
      outs: object;
    };
    this.state.set(machine, { id: created.id, outputs: created.outs });
  }

  private inputs(machine: string, image: ChaosImage): KvmMachineInputs {
    return {
      owner: { project: this.project, stack: this.name, name: machine },
      entry: "lab",
      host: this.host,
      image,
      vcpus: 1,
      memoryMiB: 64,
      diskGiB: 1,
      firmware: "bios",
      userData: "#cloud-config\n",
      installGuestAgent: true,
      wait: "started",
      bootTimeoutSeconds: 60,
    };
  }
}
