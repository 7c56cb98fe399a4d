import path from "node:path";
import { root } from "../common/paths";
import { type Captured, capture, step } from "../common/process";
import { labAddresses } from "./addresses";

const script = path.join(root, "tools/lab/lab");

/** A lab host: a real libvirtd and sshd in namespaces of their own (see the script `lab` beside this file). */
export class Lab {
  readonly address: string;
  readonly keyFile: string;
  readonly knownHostsFile: string;
  /** libvirtd's socket, for tests that speak to it without ssh. */
  readonly libvirtSocket: string;
  private readonly place: string[];

  /**
   * @param name begins with `egress-`
   * @param number 1 to 150, picks the networks
   * @param directory holds keys, logs and volumes
   */
  constructor(name: string, number: number, directory: string) {
    this.address = labAddresses(number).host;
    this.keyFile = path.join(directory, "id_ed25519");
    this.knownHostsFile = path.join(directory, "known_hosts");
    this.libvirtSocket = path.join(directory, "run/libvirt-sock");
    this.place = [name, String(number), directory];
  }

  /** Starts it; nothing happens if it runs already. `poolMiB` limits the room of the pool `default`. */
  async up(poolMiB?: number): Promise<void> {
    const limit = poolMiB === undefined ? [] : ["--pool-size", String(poolMiB)];
    await step("starting the lab host", script, ["up", ...this.place, ...limit], {
      remedy: "Read the lines above; the lab host needs root and Linux network namespaces.",
    });
  }

  /** Takes it away, its guests included, however far `up` came. */
  async down(): Promise<void> {
    await step("taking the lab host down", script, ["down", ...this.place]);
  }

  async isUp(): Promise<boolean> {
    return (await capture(script, ["status", ...this.place])).status === 0;
  }

  /** Runs a command inside, such as `virsh list --all`. */
  inside(...command: string[]): Promise<Captured> {
    return capture(script, ["in", ...this.place, ...command]);
  }
}
