import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderSeed } from "@egress-proxies/providers/seed/seed";

const CONTENT: Record<string, Buffer> = {
  "meta-data": Buffer.from('{"instance-id":"i-1","local-hostname":"dev-crawl-1"}\n'),
  "user-data": Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 256)),
  "vendor-data": Buffer.alloc(0),
  "network-config": Buffer.from("version: 2\nethernets: {}\n"),
};
const NAMES = Object.keys(CONTENT).sort();

describe("a seed and the programs that read ISO 9660", () => {
  let folder: string;
  let image: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "egress-seed-"));
    image = join(folder, "seed.iso");
    const seed = renderSeed({
      instanceId: "i-1",
      localHostname: "dev-crawl-1",
      userData: CONTENT["user-data"]!,
      vendorData: CONTENT["vendor-data"]!,
      networkConfig: CONTENT["network-config"]!.toString(),
      installGuestAgent: false,
    });
    writeFileSync(image, seed);
  });
  after(() => rmSync(folder, { recursive: true }));

  function sameFiles(where: string): void {
    assert.deepEqual(readdirSync(where).sort(), NAMES);
    for (const name of NAMES) assert.deepEqual(readFileSync(join(where, name)), CONTENT[name], name);
  }

  it("xorriso takes it, without a complaint, and extracts every byte", () => {
    const out = join(folder, "extracted");
    const { status, stderr } = spawnSync(
      "xorriso",
      ["-abort_on", "WARNING", "-osirrox", "on", "-indev", image, "-pvd_info", "-extract", "/", out],
      { encoding: "utf8" },
    );
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /WARNING|SORRY|FAILURE/);
    execFileSync("chmod", ["-R", "u+rwX", out]);
    sameFiles(out);
  });

  for (const [kind, option] of [
    ["Rock Ridge", "-R"],
    ["Joliet", "-J"],
  ] as const) {
    it(`isoinfo finds the files by their ${kind} names`, () => {
      const list = execFileSync("isoinfo", [option, "-f", "-i", image], { encoding: "utf8" });
      assert.deepEqual(
        list.trim().split("\n").sort(),
        NAMES.map((name) => `/${name}`),
      );
      for (const name of NAMES) {
        const content = execFileSync("isoinfo", [option, "-x", `/${name}`, "-i", image]);
        assert.deepEqual(content, CONTENT[name], name);
      }
    });
  }

  it("isoinfo sees its label and both extensions", () => {
    const info = execFileSync("isoinfo", ["-d", "-i", image], { encoding: "utf8" });
    assert.match(info, /^Volume id: cidata$/m);
    assert.match(info, /^Joliet with UCS level 3 found$/m);
    assert.match(info, /^Rock Ridge signatures version 1 found$/m);
  });

  it("blkid finds it as ds-identify of cloud-init does", () => {
    const found = execFileSync("blkid", ["-p", "-o", "export", image], { encoding: "utf8" });
    assert.match(found, /^LABEL=cidata$/m);
    assert.match(found, /^TYPE=iso9660$/m);
  });

  it("the kernel mounts it", function () {
    if (!/\biso9660$/m.test(readFileSync("/proc/filesystems", "utf8"))) this.skip();
    const mountPoint = join(folder, "mounted");
    mkdirSync(mountPoint);
    execFileSync("mount", ["-o", "loop,ro", image, mountPoint]);
    try {
      sameFiles(mountPoint);
    } finally {
      execFileSync("umount", [mountPoint]);
    }
  });
});
