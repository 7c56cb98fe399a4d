import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { openImage } from "@egress-proxies/providers/images/open";
import { LyingServer, rawDisk, sha256, withDirectory } from "../images/lying-server";

const COMMAND = resolve(__dirname, "../../../tools/images/main.js");
const MIB = 1024 * 1024;

describe("npm run images", () => {
  it("lists what is in use as in use, and prunes only what is not", () =>
    withDirectory(async (cache) => {
      const images = async (...args: string[]) => {
        const env = { ...process.env, EGRESS_CACHE: cache };
        return (await promisify(execFile)(process.execPath, [COMMAND, ...args], { env })).stdout;
      };
      const disk = rawDisk(MIB);
      const server = await LyingServer.start((_request, response) => response.end(disk));
      try {
        assert.match(await images("list"), /^0 images, 0.0 MiB of at most 20.0 GiB in \/.*\/images\n$/);
        const ref = { key: "k", url: `${server.origin}/disk.raw`, sha256: sha256(disk) };
        await openImage(ref, { cacheDir: `${cache}/images` });
        const [line = "", sum] = (await images("list")).split("\n");
        for (const part of ["1.0 MiB", "in use", ref.sha256.slice(0, 16), ref.url])
          assert.ok(line.includes(part), line);
        assert.match(sum!, /^1 image, 1.0 MiB/);
        assert.equal(await images("prune", "--limit", "0"), "removed 0 images, 0.0 MiB\n");
        assert.match(await images("list"), /^.*\n1 image/);
      } finally {
        await server.stop();
      }
    })).timeout(30_000);

  for (const args of [[], ["purge"], ["list", "all"], ["prune", "--limit"], ["prune", "--limit", "-1"]]) {
    it(`says how it is used: ${args.join(" ") || "no arguments"}`, () =>
      assert.rejects(promisify(execFile)(process.execPath, [COMMAND, ...args]), {
        code: 2,
        stderr: /^usage: npm run images/,
      }));
  }
});
