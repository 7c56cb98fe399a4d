import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { image, lab } from "./lab";
import { Stack } from "./stack";

/** What goes wrong for people: one clear error each, with the thing's name and the remedy, and nothing left behind. */
describe("what people get wrong", function () {
  this.timeout(90_000);
  const directory = mkdtempSync(join(tmpdir(), "egress-faults-"));
  const name = `f${process.pid}`;
  const tiny = join(directory, "tiny.qcow2");
  const text = join(directory, "page.qcow2");
  let stack: Stack;

  const keyFile = (content: string) => {
    const path = join(directory, `key-${Math.random().toString(36).slice(2)}`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const strangerKey = () => {
    const path = join(directory, "stranger");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path]);
    return path;
  };
  const wrongKnownHosts = () => {
    const path = join(directory, "wrong_known_hosts");
    const key = readFileSync(`${strangerKey()}.pub`, "utf8").split(" ").slice(0, 2).join(" ");
    writeFileSync(path, `${lab.address} ${key}\n`);
    return path;
  };

  before(async () => {
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", tiny, "16M"]);
    writeFileSync(text, "<html>Please log in</html>\n".repeat(200));
    stack = new Stack(name);
    await stack.init();
  });
  after(async () => {
    await stack.destroy();
    stack.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  const configure = (host: Record<string, unknown>, base: { url: string; sha256: string }) =>
    stack.configure({
      providers: { lab: lab.entry(host, { [name]: base }) },
      pools: {
        crawl: {
          provider: "lab",
          size: 1,
          wait: "started",
          placement: { machineType: "tiny", image: name },
          cloudInit: { inline: "#cloud-config\n" },
        },
      },
    });

  const cases: [string, () => Record<string, unknown>, () => { url: string; sha256: string }, RegExp[]][] = [
    [
      "a wrong host key",
      () => ({ knownHostsFile: wrongKnownHosts() }),
      () => image(tiny),
      [/the server's key/, /ssh-keygen -R/],
    ],
    ["a missing key file", () => ({ keyFile: join(directory, "nowhere") }), () => image(tiny), [/nowhere/]],
    ["a corrupt key file", () => ({ keyFile: keyFile("no key\n") }), () => image(tiny), [/key-/]],
    ["a wrong user", () => ({ user: "nobody-here" }), () => image(tiny), [/nobody-here/]],
    ["a user outside the libvirt group", () => ({ user: "visitor" }), () => image(tiny), [/group libvirt/]],
    [
      "a missing pool",
      () => ({ pool: "nowhere" }),
      () => image(tiny),
      [/"nowhere" does not exist/, /virsh pool-list/],
    ],
    [
      "a missing network",
      () => ({ network: "nowhere" }),
      () => image(tiny),
      [/"nowhere" does not exist/, /virsh net-list/],
    ],
    [
      "a dead URL",
      () => ({}),
      () => ({ url: "http://127.0.0.1:9/image.qcow2", sha256: "00".repeat(32) }),
      [/127\.0\.0\.1:9/],
    ],
    ["a wrong sha256", () => ({}), () => ({ ...image(tiny), sha256: "11".repeat(32) }), [/1111/]],
    ["a right sha256 of what is no image", () => ({}), () => image(text), [/page\.qcow2/]],
  ];
  for (const [what, host, base, wanted] of cases) {
    it(what, async () => {
      configure({ ...host() }, base());
      const { code, text: said } = await stack.up();
      assert.notEqual(code, 0, said);
      for (const pattern of wanted) assert.match(said, pattern);
      assert.match(said, /lab1|image|crawl/);
      assert.doesNotMatch(said, /^\s+at .*\.js:\d+/m, "a stack trace");
      assert.deepEqual(await lab.holds(`${name}-`), { domains: [], volumes: [] });
      assert.deepEqual((await lab.holds(`base-${name}`)).volumes, []);
    });
  }

  it("a full disk", async () => {
    const target = `/var/lib/libvirt/${name}-full`;
    await lab.on(`mkdir ${target} && mount -t tmpfs -o size=2m tmpfs ${target}`);
    await lab.virsh("pool-define-as", `${name}-full`, "dir", "--target", target);
    await lab.virsh("pool-start", `${name}-full`);
    try {
      const large = join(directory, "large.qcow2");
      execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", large, "16M"]);
      execFileSync("qemu-io", ["-f", "qcow2", "-c", "write -P 7 0 8M", large]);
      configure({ pool: `${name}-full` }, image(large));
      const { code, text: said } = await stack.up();
      assert.notEqual(code, 0, said);
      assert.match(said, new RegExp(`${name}-full.*free`, "i"));
      assert.equal(await lab.on(`ls ${target}`), "");
      assert.deepEqual((await lab.holds(`${name}-`)).domains, []);
    } finally {
      await lab.virsh("pool-destroy", `${name}-full`);
      await lab.virsh("pool-undefine", `${name}-full`);
      await lab.on(`umount ${target} && rmdir ${target}`);
    }
  });

  it("a machine of the same name that somebody else made", async () => {
    const domain = join(directory, "domain.xml");
    const machine = `${name}-crawl-1`;
    writeFileSync(
      domain,
      `<domain type="qemu"><name>${machine}</name><memory unit="MiB">32</memory><os><type arch="x86_64">hvm</type></os></domain>`,
    );
    await lab.define(domain);
    try {
      const before = await lab.virsh("dumpxml", machine);
      configure({}, image(tiny));
      const { code, text: said } = await stack.up();
      assert.notEqual(code, 0, said);
      assert.match(said, new RegExp(`${machine}.*was not made by this program`));
      assert.equal(await lab.virsh("dumpxml", machine), before);
    } finally {
      await lab.virsh("undefine", machine);
    }
  });
});
