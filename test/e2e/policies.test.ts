import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { type Result, Stack } from "./stack";

const PACK = resolve(__dirname, "../../../policies");
const SECRET = "hunter2-in-user-data";

/** The policy pack under the real CLI. Previews only: no host is asked. */
describe("policy pack", function () {
  this.timeout(120_000);
  let stack: Stack;

  const configure = (pool: object, image: object = {}) =>
    stack.configure({
      providers: {
        rack: {
          type: "kvm",
          hosts: [{ name: "kvm1", address: "kvm1.example.org" }],
          images: { debian: { url: "https://images.example.org/d.qcow2", sha256: "a".repeat(64), ...image } },
        },
      },
      pools: {
        crawl: {
          provider: "rack",
          size: 2,
          placement: { image: "debian" },
          cloudInit: { squid: { allowedClients: ["192.0.2.0/24"] } },
          ...pool,
        },
      },
    });
  const preview = (...more: string[]): Promise<Result> =>
    stack.pulumi("preview", "--policy-pack", PACK, ...more);

  before(async () => {
    stack = new Stack(`policies${process.pid}`);
    await stack.init();
  });
  after(() => stack.dispose());

  it("lets pass what is right, without a word of any rule", async () => {
    configure({});
    const { code, text } = await preview();
    assert.equal(code, 0, text);
    assert.match(text, /egress-proxies@v0\.1\.0/);
    assert.doesNotMatch(text, /mandatory|advisory|remediat|can't run/i);
  });

  it("refuses everything that is wrong at once, each with resource, value and remedy, and no secret", async () => {
    configure(
      {
        cloudInit: {
          inline: `#cloud-config\n# ${SECRET}\nwrite_files:\n - content: |\n     http_port 8080\n`,
        },
        members: { a: null, b: { cloudInit: { squid: { allowedClients: ["8.0.0.0/8"] } } } },
        size: undefined,
      },
      { url: "http://images.example.org/d.qcow2", sha256: "https://images.example.org/SHA256SUMS" },
    );
    const { code, text } = await preview();
    assert.notEqual(code, 0, text);
    for (const expected of [
      /crawl-a-machine: image\.url "http:\/\/images.* Use https:/,
      /crawl-a-machine: image\.sha256 "https:.* Give the digest itself/,
      /crawl-a-check: port 3128 is not .*: 8080\. Set the pool's or member's port to 8080/,
      /crawl-b-check: allowedClients\[0\] "8\.0\.0\.0\/8" is public .* Name the crawler's own networks/,
    ])
      assert.match(text, expected);
    assert.doesNotMatch(text, new RegExp(SECRET));
  });

  it("takes levels and parameters from a config file, and looks at whole pools", async () => {
    configure({});
    const underPolicy = async (config: object): Promise<Result> => {
      stack.write("policy.json", JSON.stringify(config));
      return preview("--policy-pack-config", join(stack.directory, "policy.json"));
    };
    const refused = await underPolicy({
      "pool-size": { most: 1 },
      "protected-pools": { pools: { crawl: 3 } },
    });
    assert.notEqual(refused.code, 0, refused.text);
    assert.match(refused.text, /crawl: size 2 is more than 1\. Make the pool smaller/);
    assert.match(refused.text, /crawl: machines 2 is fewer than the 3 .* Put its members back/);

    const advised = await underPolicy({ "pool-size": { enforcementLevel: "advisory", most: 1 } });
    assert.equal(advised.code, 0, advised.text);
    assert.match(advised.text, /crawl: size 2 is more than 1\./);

    const disabled = await underPolicy({ "pool-size": { enforcementLevel: "disabled", most: 1 } });
    assert.equal(disabled.code, 0, disabled.text);
    assert.doesNotMatch(disabled.text, /is more than 1/);
  });
});
