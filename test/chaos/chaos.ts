import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { markerName } from "@egress-proxies/providers/images/naming";
import { randomFrom } from "../random";
import { problems } from "./check";
import { CliStack } from "./cli-stack";
import { type Cut, describeCut, type Plan, planOf } from "./cut";
import { ForkedStack } from "./forked-stack";
import { ChaosHost } from "./host";
import { Relay } from "./relay";
import type { ChaosImage, ChaosStack, Run } from "./stack";

const MIB = 1024 * 1024;
const IMAGE_BYTES = 12 * MIB;
/** So slow that cuts land in the upload. */
const BYTES_PER_SECOND = 24 * MIB;
/** Longer than any wait of a run for another publisher or for a host that does not answer. */
const HANGS_MS = 120_000;
/** An orphan of a killed CLI may work on for 25 s until it has to end. */
const ORPHAN_MS = 35_000;
/** How many machines each stack asks for. */
const SIZES = [2, 1] as const;

export interface ChaosOptions {
  /** The lab's folder, and its host's address. */
  lab: { directory: string; address: string };
  cuts: number;
  /** Of the first cut; each further one has the next number. */
  seed: number;
  say: (line: string) => void;
  /** No further cut once it is aborted. */
  signal?: AbortSignal;
}

export interface ChaosReport {
  /** Cuts that hit a run, by kind. */
  landed: Map<Cut["kind"], number>;
  failures: string[];
  seconds: number;
}

/** Two stacks race on one host under one cut after the other; see `planOf` for what a seed stands for. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const began = Date.now();
  const report: ChaosReport = { landed: new Map(), failures: [], seconds: 0 };
  const scene = await Scene.open(options);
  try {
    let landed = 0;
    for (let seed = options.seed; landed < options.cuts && !options.signal?.aborted; seed++) {
      const plan = planOf(seed);
      const at = Date.now();
      const result = await scene.play(plan);
      if (result.landed) {
        landed += 1;
        report.landed.set(plan.cut.kind, (report.landed.get(plan.cut.kind) ?? 0) + 1);
      }
      const line =
        `${landed}/${options.cuts} seed ${seed}${plan.cli ? " (CLI)" : ""}${plan.published ? " (published before)" : ""}: ` +
        `${describeCut(plan.cut, scene.names(plan))}${result.landed ? "" : " came too late"}; ` +
        `${result.outcome} (${((Date.now() - at) / 1000).toFixed(1)} s)`;
      options.say(line);
      for (const problem of result.problems) {
        options.say(`  FAILED: ${problem}`);
        report.failures.push(`seed ${seed}: ${problem}`);
      }
    }
  } finally {
    await scene.close();
  }
  report.seconds = (Date.now() - began) / 1000;
  return report;
}

interface Played {
  landed: boolean;
  outcome: string;
  problems: string[];
}

class Scene {
  private readonly directory = mkdtempSync(join(tmpdir(), "egress-chaos-"));
  private readonly image = incompressible(join(this.directory, "image"));
  private readonly clis: CliStack[] = [];
  private forks: ForkedStack[] = [];
  private readonly cacheBefore = process.env.EGRESS_CACHE;
  private keys = 0;
  /** Milliseconds of a whole run, by what it has to do: the last one that no cut came into. */
  private readonly whole = new Map<string, number>();

  private constructor(
    private readonly host: ChaosHost,
    private readonly relays: readonly [Relay, Relay],
    private readonly options: ChaosOptions,
  ) {}

  static async open(options: ChaosOptions): Promise<Scene> {
    const host = new ChaosHost(options.lab.directory);
    await host.prepare();
    const relay = () => Relay.open(options.lab.address, 22, BYTES_PER_SECOND);
    const scene = new Scene(host, [await relay(), await relay()], options);
    process.env.EGRESS_CACHE = join(scene.directory, "cache"); // for all child processes
    scene.forks = scene.relays.map(
      (relay, index) => new ForkedStack(`chaos-${"ab"[index]}`, scene.address(relay), SIZES[index] ?? 1),
    );
    return scene;
  }

  names({ cli }: Plan): string[] {
    return ["a", "b"].map((letter) => `chaos-${cli ? "cli-" : ""}${letter}`);
  }

  async play(plan: Plan): Promise<Played> {
    const stacks = plan.cli ? await this.cliStacks() : this.forks;
    const wholeMs = this.whole.get(kindOfRun(plan)) ?? (await this.wholeRun(plan, stacks));
    const image = this.newImage();
    const found: string[] = [];
    if (plan.published) {
      await this.undisturbed(stacks, image, "before the cut", found);
      await this.destroyAll(stacks, found);
    }
    const began = Date.now();
    const runs = stacks.map((stack) => stack.up(image));
    const landed = await this.disturb(plan.cut, runs, wholeMs);
    const errors = await this.endOf(runs, found);
    if (!landed) this.whole.set(kindOfRun(plan), Date.now() - began);
    await this.host.empty();
    await this.host.startDaemon();
    found.push(...unexpected(plan, stacks, errors));
    await this.undisturbed(stacks, image, "after the cut", found);
    found.push(...(await this.settledProblems(stacks, image, plan.cli ? ORPHAN_MS : 0)));
    await this.destroyAll(stacks, found);
    await this.evict(image);
    for (const left of await this.host.files()) found.push(`left after all was destroyed: ${left}`);
    const outcome = errors.map((each) => (each.length === 0 ? "healed" : firstLine(each[0]))).join(" | ");
    if (found.length > 0) await this.host.clear(); // nothing of it may spoil what follows
    return { landed, outcome, problems: found };
  }

  async close(): Promise<void> {
    for (const stack of [...this.forks, ...this.clis]) {
      await stack.destroy().ended;
      await stack.close();
    }
    for (const relay of this.relays) relay.close();
    await this.host.cleanUp();
    if (this.cacheBefore === undefined) delete process.env.EGRESS_CACHE;
    else process.env.EGRESS_CACHE = this.cacheBefore;
    rmSync(this.directory, { recursive: true, force: true });
  }

  private address(relay: Relay) {
    const { directory } = this.options.lab;
    const knownHosts = join(this.directory, `known_hosts-${relay.port}`);
    const [, ...key] = readFileSync(join(directory, "known_hosts"), "utf8").trim().split(" ");
    writeFileSync(knownHosts, `[127.0.0.1]:${relay.port} ${key.join(" ")}\n`);
    return {
      name: "lab",
      address: "127.0.0.1",
      port: relay.port,
      user: "root",
      keyFile: join(directory, "id_ed25519"),
      knownHostsFile: knownHosts,
      pool: this.host.pool,
      network: "default",
    };
  }

  private async cliStacks(): Promise<CliStack[]> {
    for (const [index, relay] of this.relays.entries()) {
      this.clis[index] ??= await CliStack.open(
        `chaos-cli-${"ab"[index]}`,
        this.address(relay),
        SIZES[index] ?? 1,
      );
    }
    return this.clis;
  }

  /** How long a run takes, measured without a cut. */
  private async wholeRun(plan: Plan, stacks: readonly ChaosStack[]): Promise<number> {
    const image = this.newImage();
    const found: string[] = [];
    let took = 0;
    for (const published of [false, true]) {
      const began = Date.now();
      await this.undisturbed(stacks, image, "without any cut", found);
      took = Date.now() - began;
      this.whole.set(kindOfRun({ ...plan, published }), took);
      await this.destroyAll(stacks, found);
    }
    await this.evict(image);
    if (found.length > 0) throw new Error(`a run without any cut fails: ${found.join("; ")}`);
    return this.whole.get(kindOfRun(plan)) ?? took;
  }

  private newImage(): ChaosImage {
    this.keys += 1;
    return { key: `chaos-${process.pid}-${this.keys}`, ...this.image };
  }

  private async undisturbed(
    stacks: readonly ChaosStack[],
    image: ChaosImage,
    when: string,
    found: string[],
  ): Promise<void> {
    const errors = await this.endOf(
      stacks.map((stack) => stack.up(image)),
      found,
    );
    for (const [index, each] of errors.entries())
      for (const error of each) found.push(`the run of ${stacks[index]?.name} ${when}: ${error}`);
  }

  private async destroyAll(stacks: readonly ChaosStack[], found: string[]): Promise<void> {
    const errors = await this.endOf(
      stacks.map((stack) => stack.destroy()),
      found,
    );
    for (const error of errors.flat()) found.push(`destroy: ${error}`);
  }

  /** What each run has to say in the end; one that hangs is killed. */
  private async endOf(runs: readonly Run[], found: string[]): Promise<string[][]> {
    return Promise.all(
      runs.map(async (run) => {
        const timer = setTimeout(() => {
          found.push(`a run has not ended within ${HANGS_MS} ms`);
          run.kill();
        }, HANGS_MS);
        const errors = await run.ended;
        clearTimeout(timer);
        return errors;
      }),
    );
  }

  /** Waits for the moment and cuts; false where the runs ended before. */
  private async disturb(cut: Cut, runs: readonly Run[], wholeMs: number): Promise<boolean> {
    const relay = this.relays[cut.victim];
    const over = new AbortController();
    const ended = Promise.all(runs.map(({ ended }) => ended)).then(() => over.abort());
    const inTime = sleep(cut.moment.part * wholeMs, undefined, { signal: over.signal }).catch(
      () => undefined,
    );
    // An image goes there, and comes back to be verified.
    const inBytes = relay.reaches(cut.moment.part * 2 * IMAGE_BYTES);
    await Promise.race([cut.moment.of === "time" ? inTime : inBytes, ended]);
    if (over.signal.aborted) return false;
    const hit = "both" in cut && cut.both ? ([0, 1] as const) : ([cut.victim] as const);
    switch (cut.kind) {
      case "connection":
        for (const index of hit) if (cut.stallMs > 0) this.relays[index].stall();
        await sleep(cut.stallMs);
        for (const index of hit) this.relays[index].cut();
        break;
      case "daemon":
        this.host.killDaemon();
        await sleep(cut.downMs);
        await this.host.startDaemon();
        break;
      case "process":
        for (const index of hit) runs[index]?.kill();
        break;
      case "disk":
        await this.host.fill(cut.room * IMAGE_BYTES);
        break;
    }
    return true;
  }

  /** What is wrong on the host once orphans of killed runs are gone, for whom it waits at most so long. */
  private async settledProblems(
    stacks: readonly ChaosStack[],
    image: ChaosImage,
    waitMs: number,
  ): Promise<string[]> {
    const machines = stacks.flatMap(({ project, name: stack, machines }) =>
      machines.map((name) => ({ project, stack, name })),
    );
    for (const until = Date.now() + waitMs; ; await sleep(500)) {
      const found = await problems(this.host, { image, machines });
      if (found.length === 0 || Date.now() >= until) return found;
    }
  }

  /** Deletes a base as a person does: its marker first. */
  private async evict(image: ChaosImage): Promise<void> {
    const client = await this.host.libvirt();
    try {
      const ours = (await this.host.files()).filter((name) => name.startsWith(`base-${image.key}.`));
      ours.sort((a, b) => Number(b === markerName(image)) - Number(a === markerName(image)));
      for (const name of ours) await client.storageVolDelete({ pool: this.host.pool, name, key: "" });
    } finally {
      await client.close();
    }
  }
}

function kindOfRun({ cli, published }: Pick<Plan, "cli" | "published">): string {
  return JSON.stringify([cli, published]);
}

/** Errors of the run with the cut that the cut does not explain. */
function unexpected(plan: Plan, stacks: readonly ChaosStack[], errors: readonly string[][]): string[] {
  const { cut } = plan;
  return errors.flatMap((each, index) => {
    const name = stacks[index]?.name;
    const spared = (cut.kind === "connection" || cut.kind === "process") && !cut.both && cut.victim !== index;
    return each
      .filter((error) => spared || /\bunexpected \w*:|ended by itself/.test(error))
      .map((error) => `the run of ${name} with the cut${spared ? ", which did not hit it" : ""}: ${error}`);
  });
}

function firstLine(text: string | undefined): string {
  return (text ?? "").trim().split("\n")[0]?.slice(0, 100) ?? "";
}

/** A disk that no compression makes smaller and no BIOS boots from. */
function incompressible(path: string): { url: string; sha256: string } {
  const random = randomFrom(1);
  const bytes = new Uint32Array(IMAGE_BYTES / 4).map((_, index) => (index < 128 ? 0 : random() * 2 ** 32));
  writeFileSync(`${path}.raw`, bytes);
  execFileSync("qemu-img", ["convert", "-f", "raw", "-O", "qcow2", `${path}.raw`, `${path}.qcow2`]);
  rmSync(`${path}.raw`);
  const sha256 = createHash("sha256")
    .update(readFileSync(`${path}.qcow2`))
    .digest("hex");
  return { url: `${path}.qcow2`, sha256 };
}
