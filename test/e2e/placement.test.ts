import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

/** Growing, shrinking and new hosts, on the real engine. Steps build on each other. */
describe("members and hosts that come and go", function () {
  this.timeout(120_000);
  this.bail(true);
  const directory = mkdtempSync(join(tmpdir(), "egress-placement-"));
  const name = `p${process.pid}`;
  const tiny = join(directory, "tiny.qcow2");
  let stack: Stack;

  /** Each host name stands for the same lab host: where a machine is said to be is what counts here. */
  const configure = (hosts: string[], members: string[]) => {
    const { hosts: labHosts, ...entry } = lab.entry({}, { [name]: image(tiny) });
    stack.configure({
      providers: { lab: { ...entry, hosts: hosts.map((host) => ({ ...labHosts[0], name: host })) } },
      pools: {
        crawl: {
          provider: "lab",
          members: Object.fromEntries(members.map((member) => [member, null])),
          wait: "started",
          placement: { machineType: "tiny", image: name },
          cloudInit: { inline: "#cloud-config\n" },
        },
      },
    });
  };
  const up = async (): Promise<string> => {
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
    return text;
  };
  /** The lines about machines that were touched, without the time that it took. */
  const touched = (text: string) =>
    [...text.matchAll(/KvmMachine (\S+) (created|deleted|replaced|updated)\b/g)].map(
      ([, machine, what]) => `${machine} ${what}`,
    );
  const placed = async () =>
    Object.fromEntries((await stack.proxies()).map(({ name: of, host }) => [of, host]));

  before(async () => {
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", tiny, "16M"]);
    stack = new Stack(name);
    await stack.init();
  });
  after(async () => {
    await stack.destroy();
    stack.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  it("spreads a new stack, of which no last state is there to read, without a warning", async () => {
    configure(["a", "b"], ["1", "2", "3", "4"]);
    const text = await up();
    assert.equal(touched(text).length, 4, text);
    assert.doesNotMatch(text, /warning/);
    assert.deepEqual(Object.values(await placed()), ["a", "b", "a", "b"]);
  });

  it("moves nobody for new hosts, in whatever order, and puts new members there", async () => {
    configure(["d", "b", "c", "a"], ["1", "2", "3", "4", "5", "6"]);
    const text = await up();
    assert.deepEqual(touched(text), [`crawl-5-machine created`, `crawl-6-machine created`].sort(), text);
    assert.deepEqual(Object.values(await placed()), ["a", "b", "a", "b", "d", "c"]);
  });

  it("touches only the member that goes", async () => {
    configure(["d", "b", "c", "a"], ["1", "3", "4", "5", "6"]);
    const text = await up();
    assert.deepEqual(touched(text), ["crawl-2-machine deleted"], text);
  });

  it("leaves no trace of the question in the state, and changes nothing when run again", async () => {
    const { code, text } = await stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
    assert.equal(code, 0, text);
    assert.doesNotMatch(await stack.exported(), /StackReference/);
  });

  it("knows where machines are after a run that failed half-way", async () => {
    configure(["a", "b", "c", "d"], ["1", "3", "4", "5", "6", "7"]);
    await lab.define(stranger("7"));
    try {
      const failed = await stack.up();
      assert.notEqual(failed.code, 0, failed.text);
    } finally {
      await lab.virsh("undefine", `${name}-crawl-7`);
    }
    const text = await up();
    assert.deepEqual(touched(text), ["crawl-7-machine created"], text);
    assert.deepEqual(Object.values(await placed()).slice(0, 5), ["a", "a", "b", "d", "c"]);
  });

  /** A machine that is in the way. */
  function stranger(member: string): string {
    const file = join(directory, "domain.xml");
    const os = '<os><type arch="x86_64">hvm</type></os>';
    writeFileSync(
      file,
      `<domain type="qemu"><name>${name}-crawl-${member}</name><memory unit="MiB">32</memory>${os}</domain>`,
    );
    return file;
  }
});
