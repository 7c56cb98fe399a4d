import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

const SIZE = 4;

/** A change that rebuilds every machine, seen from the host. Steps build on each other. */
describe("a rolling change", function () {
  this.timeout(180_000);
  this.bail(true);
  const directory = mkdtempSync(join(tmpdir(), "egress-rolling-"));
  const name = `r${process.pid}`;
  const tiny = join(directory, "tiny.qcow2");
  let stack: Stack;

  const configure = (memoryMiB: number, size: number, maxUnavailable?: number | string) => {
    const entry = lab.entry({}, { [name]: image(tiny) });
    const machineTypes = { tiny: { ...entry.machineTypes.tiny, memoryMiB } };
    stack.configure({
      providers: { lab: { ...entry, machineTypes } },
      pools: {
        crawl: {
          provider: "lab",
          size,
          wait: "started",
          ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
          placement: { machineType: "tiny", image: name },
          cloudInit: { inline: "#cloud-config\n" },
        },
      },
    });
  };

  /**
   * Runs `up`, and looks at the host all the while: the fewest machines of before that were seen running at
   * once. A look may miss a short gap, never invent one: the order of the steps says the rest.
   */
  const fewestDuringUp = async (): Promise<{ fewest: number; text: string }> => {
    let running = true;
    const up = stack.up().finally(() => {
      running = false;
    });
    let fewest = Number.POSITIVE_INFINITY;
    while (running) {
      const domains = (await lab.virsh("list", "--name", "--state-running")).split("\n");
      const old = domains.filter(
        (domain) => domain.startsWith(`${name}-crawl-`) && Number(domain.at(-1)) <= SIZE,
      );
      fewest = Math.min(fewest, old.length);
    }
    const { code, text } = await up;
    assert.equal(code, 0, text);
    return { fewest, text };
  };

  /** What happened to machines, in its order. */
  const steps = (text: string) =>
    [...text.matchAll(/KvmMachine crawl-(\d)-machine (deleted original|created replacement|created)\b/g)].map(
      ([, member, what]) => `${member} ${what}`,
    );

  before(async () => {
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", tiny, "16M"]);
    stack = new Stack(name);
    await stack.init();
    configure(64, SIZE);
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
  });
  after(async () => {
    await stack.destroy();
    stack.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  it("rebuilds one machine after the other, and a new one meanwhile", async () => {
    configure(72, SIZE + 1);
    const { fewest, text } = await fewestDuringUp();
    assert.ok(fewest >= SIZE - 1, `${fewest} ran at once\n${text}`);
    assert.deepEqual(
      steps(text).filter((step) => !step.startsWith("5")),
      ["1", "2", "3", "4"].flatMap((member) => [
        `${member} deleted original`,
        `${member} created replacement`,
      ]),
      text,
    );
    assert.ok(steps(text).includes("5 created"), text);
  });

  it("rebuilds as many at once as a percentage allows", async () => {
    configure(80, SIZE, "50%");
    const { fewest, text } = await fewestDuringUp();
    assert.ok(fewest >= SIZE - 2, `${fewest} ran at once\n${text}`);
    const firstOfSecondGroup = steps(text).findIndex((step) => /^[34] deleted/.test(step));
    assert.equal(firstOfSecondGroup, 4, "both of the first group are back by then");
  });

  it("changes nothing when run again", async () => {
    const { code, text } = await stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
    assert.equal(code, 0, text);
  });
});
