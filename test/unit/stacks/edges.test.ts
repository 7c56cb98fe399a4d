import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { readUserDataFiles } from "../../../stacks/config/files";
import { parseConfig } from "../../../stacks/config/parse";
import { hostFileWarnings } from "../../../stacks/host-files";
import { rawConfig, secretKeys } from "../../../stacks/raw-config";
import { context, host, pool, sample } from "./sample";

function missing(path: string): never {
  throw Object.assign(new Error(`no such file: ${path}`), { code: "ENOENT" });
}

describe("readUserDataFiles", () => {
  const pools = {
    crawl: pool({
      cloudInit: { file: "pool.yaml" },
      members: { a: { cloudInit: { file: "member.yaml" } }, b: null },
    }),
  };

  it("reads the files of pools and members byte for byte", () => {
    const bytes: Record<string, Buffer> = {
      "pool.yaml": Buffer.from("\uFEFF#cloud-config\r\n"),
      "member.yaml": Buffer.from(""),
    };
    const { files, problems } = readUserDataFiles(pools, (path) => bytes[path] ?? missing(path));
    assert.deepEqual(problems, []);
    assert.deepEqual(files, { "pool.yaml": "\uFEFF#cloud-config\r\n", "member.yaml": "" });
  });

  it("reports every file that cannot be read, or is no text", () => {
    const read = (path: string) =>
      path === "pool.yaml" ? Buffer.from([0x1f, 0x8b, 0x08, 0xff]) : missing(path);
    const { problems } = readUserDataFiles(pools, read);
    assert.deepEqual(
      problems.map(({ path, message }) => [path, message]),
      [
        ["egress:pools.crawl.cloudInit.file", "the file is not valid UTF-8 text"],
        ["egress:pools.crawl.members.a.cloudInit.file", "the file cannot be read: ENOENT"],
      ],
    );
  });
});

describe("hostFileWarnings", () => {
  const hosts = [host("a", { keyFile: "~/.ssh/egress", knownHostsFile: "known" }), host("b")];
  const result = parseConfig(sample(undefined, hosts), context);
  assert.ok("config" in result);

  it("warns of each file that cannot be read, and says where it is configured", () => {
    const [key, known, ...rest] = hostFileWarnings(result.config, missing);
    assert.match(
      key!,
      /^egress:providers\.lab, host a: keyFile ~\/\.ssh\/egress cannot be read now \(ENOENT\)/,
    );
    assert.match(known!, /knownHostsFile known/);
    assert.deepEqual(rest, []);
  });

  it("looks for ~ in the home directory and is silent where all is well", () => {
    const tried: string[] = [];
    assert.deepEqual(
      hostFileWarnings(result.config, (path) => tried.push(path)),
      [],
    );
    assert.deepEqual(tried, [join(homedir(), ".ssh/egress"), "known"]);
  });
});

describe("rawConfig", () => {
  it("takes the egress namespace and leaves a text that is no JSON as it is", () => {
    const raw = rawConfig({
      "egress:pools": '{"a":{"size":1}}',
      "egress:providers": "lab",
      "other:pools": "{}",
    });
    assert.deepEqual(raw, { pools: { a: { size: 1 } }, providers: "lab" });
  });

  it("knows which keys are encrypted, where the language host says so", () => {
    assert.deepEqual(secretKeys({ PULUMI_CONFIG_SECRET_KEYS: '["egress:cloudInit"]' }), ["egress:cloudInit"]);
    assert.equal(secretKeys({}), undefined);
  });

  it("has both maps also where nothing is configured", () => {
    assert.deepEqual(rawConfig({}), { pools: undefined, providers: undefined });
  });
});
