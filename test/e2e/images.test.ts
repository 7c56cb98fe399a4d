import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

/** Machines that only start: what they hang on is all that matters here. */
describe("images and kinds of bases, with the real engine", function () {
  this.timeout(180_000);
  const stack = new Stack("bases");
  /** The lab's host has other tests' bases as well. */
  const key = `t${process.pid}`;
  const path = (name: string) => join(stack.directory, name);

  const config = (type: string, images: object, members: object) => ({
    providers: { racks: { ...lab.entry(), type, images } },
    pools: {
      crawl: {
        provider: "racks",
        members,
        wait: "started",
        placement: { image: key, machineType: "tiny" },
        cloudInit: { inline: "#cloud-config\n" },
      },
    },
  });
  const up = async () => {
    const { code, text } = await stack.up();
    assert.equal(code, 0, text);
    return text;
  };

  /** Of the image that has no key in the config. */
  let stem: string;

  before(async () => {
    for (const [name, size] of [
      ["tiny.qcow2", "16M"],
      ["other.qcow2", "17M"],
    ] as const) {
      execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", path(name), size]);
    }
    copyFileSync(path("tiny.qcow2"), path("copy.qcow2"));
    stem = `base-racks-sha256-${image(path("other.qcow2")).sha256.slice(0, 16)}-`;
    await stack.init();
  });
  after(async () => {
    try {
      await stack.destroy();
      const held = await Promise.all(
        [`base-${key}.`, `base-racks-${key}.`, stem].map((prefix) => lab.holds(prefix)),
      );
      const ours = held.flatMap(({ volumes }) => volumes);
      // The markers first: what has none is no base any more.
      ours.sort((a, b) => Number(b.endsWith(".json")) - Number(a.endsWith(".json")));
      for (const name of ours) await lab.virsh("vol-delete", "--pool", "default", name);
    } finally {
      stack.dispose();
    }
  });

  it("hold what they hold when the entry becomes kvm2, and the next machine gets a base of the entry", async () => {
    const images = { [key]: image(path("tiny.qcow2")) };
    stack.configure(config("kvm", images, { a: null }));
    await up();
    const running = await lab.virsh("domid", "bases-crawl-a");
    assert.match(running, /^\d+$/);

    stack.configure(config("kvm2", images, { a: null }));
    const text = await up();
    assert.equal(await lab.virsh("domid", "bases-crawl-a"), running, text);
    assert.match(await stack.exported(), /"type": "pulumi-nodejs:dynamic\/egress:Kvm2Machine"/);
    assert.doesNotMatch(await stack.exported(), /egress:KvmMachine"/);
    assert.deepEqual((await lab.holds(`base-racks-${key}`)).volumes, []);

    stack.configure(config("kvm2", images, { a: null, b: null }));
    await up();
    assert.ok((await lab.holds(`base-racks-${key}`)).volumes.includes(`base-racks-${key}.json`));
    const { code, text: refreshed } = await stack.refresh();
    assert.equal(code, 0, refreshed);
  });

  it("refuse an edited url under the same key in preview, with both and the way out", async () => {
    const edited = image(path("copy.qcow2"));
    stack.configure(config("kvm2", { [key]: edited }, { a: null, b: null }));
    const { code, text } = await stack.pulumi("preview");
    assert.notEqual(code, 0);
    for (const part of [path("tiny.qcow2"), edited.url, edited.sha256, "give the new image a new key"]) {
      assert.ok(text.includes(part), `${part} is missing in: ${text}`);
    }
  });

  it("take an image that a member gives itself, and its edited url as another image", async () => {
    const images = { [key]: image(path("tiny.qcow2")) };
    const direct = { ...image(path("other.qcow2")), firmware: "uefi" };
    const members = (url: string) => ({
      a: null,
      b: null,
      c: { placement: { image: { ...direct, url } } },
    });
    stack.configure(config("kvm2", images, members(direct.url)));
    await up();
    const markers = async () => (await lab.holds(stem)).volumes.filter((name) => name.endsWith(".json"));
    assert.equal((await markers()).length, 1);
    assert.match(await lab.virsh("dumpxml", "bases-crawl-c"), /firmware=['"]efi['"]|<loader/);

    copyFileSync(path("other.qcow2"), path("moved.qcow2"));
    stack.configure(config("kvm2", images, members(path("moved.qcow2"))));
    await up();
    assert.equal((await markers()).length, 2);
  });
});
