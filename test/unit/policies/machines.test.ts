import assert from "node:assert/strict";
import {
  clearCredentials,
  identifiers,
  imageDigest,
  imageUrl,
  openClients,
  portMatch,
  secretInputs,
} from "@egress-proxies/policies";
import { packText } from "@egress-proxies/providers/machine/packed-text";
import { Secret } from "@pulumi/policy";
import { CHECK, check, MACHINE, MACHINE2, machine, POOL, PROXY, remediated, violations } from "./run";

const image = (change: object) => machine({ image: { ...machine().image, ...change } });

describe("policies on machines and checks", () => {
  it("have nothing to say about what is right", async () => {
    const all = [identifiers(), portMatch(), imageDigest(), imageUrl(), openClients(), clearCredentials()];
    for (const policy of all) {
      for (const type of [MACHINE, MACHINE2]) assert.deepEqual(await violations(policy, type, machine()), []);
      assert.deepEqual(await violations(policy, CHECK, check()), []);
      assert.deepEqual(await violations(policy, "other:index:Thing", {}), []);
    }
  });

  describe("identifiers", () => {
    const bad: Record<string, object> = {
      entry: machine({ entry: "a b" }),
      "host.name": machine({ host: { name: "a/b" } }),
      "image.key": image({ key: "" }),
      "owner.name": machine({ owner: { name: "x".repeat(64) } }),
    };
    for (const [property, props] of Object.entries(bad)) {
      it(`names ${property}, its value and what to do`, async () => {
        const [message = "", ...more] = await violations(identifiers(), MACHINE, props);
        assert.ok(message.startsWith(`crawl-1: ${property} "`), message);
        assert.match(message, /\. Choose another name\.$/);
        assert.deepEqual(more, []);
      });
    }
    it("looks at pools, members and checks", async () => {
      assert.equal((await violations(identifiers(), POOL, {}, { name: "a:b" })).length, 1);
      assert.equal((await violations(identifiers(), PROXY, {}, { name: "a b" })).length, 1);
      assert.equal((await violations(identifiers(), CHECK, check({ name: "é" }))).length, 1);
    });
  });

  describe("port-match", () => {
    it("compares user-data with the check of the same machine, packed or not", async () => {
      for (const pack of [packText, (text: string) => text]) {
        const policy = portMatch();
        const userData = pack("write_files:\n - content: |\n     http_port 8080\n     secret sauce\n");
        assert.deepEqual(await violations(policy, MACHINE, machine({ userData })), []);
        const [message = ""] = await violations(policy, CHECK, check());
        assert.equal(
          message,
          "crawl-1: port 3128 is not what its user-data makes squid listen on: 8080. " +
            "Set the pool's or member's port to 8080, or http_port to 3128.",
        );
        assert.deepEqual(await violations(policy, CHECK, check({ port: 8080 })), []);
        assert.deepEqual(await violations(policy, CHECK, check({ name: "dev-crawl-2" })), []);
      }
    });
    it("forgets what an earlier user-data said", async () => {
      const policy = portMatch();
      await violations(policy, MACHINE, machine({ userData: "http_port 8080" }));
      await violations(policy, MACHINE, machine());
      assert.deepEqual(await violations(policy, CHECK, check()), []);
    });
  });

  describe("image-digest", () => {
    const cases: [string, "none" | "local" | "any", boolean][] = [
      ["A".repeat(64), "none", true],
      ["images/SHA256SUMS", "none", false],
      ["images/SHA256SUMS", "local", true],
      ["file:///srv/SHA256SUMS", "local", true],
      ["https://images.example.org/SHA256SUMS", "local", false],
      ["https://images.example.org/SHA256SUMS", "any", true],
      ["", "any", false],
    ];
    for (const [sha256, checksumFiles, fine] of cases) {
      it(`${fine ? "accepts" : "refuses"} ${JSON.stringify(sha256.slice(0, 40))} with ${checksumFiles}`, async () => {
        const byParameter = await violations(imageDigest({ checksumFiles }), MACHINE, image({ sha256 }));
        const byConfig = await violations(imageDigest(), MACHINE, image({ sha256 }), {
          config: { checksumFiles },
        });
        assert.equal(byParameter.length, fine ? 0 : 1);
        assert.deepEqual(byConfig, byParameter);
      });
    }
  });

  describe("image-url", () => {
    const insecure = image({ url: "http://mirror.example.org/a.qcow2", sha256: "http://other.example/SUMS" });
    it("refuses plain http for images and checksums", async () => {
      const messages = await violations(imageUrl(), MACHINE, insecure);
      assert.equal(messages.length, 2);
      assert.match(messages[0]!, /^crawl-1: image\.url "http:\/\/mirror.*encryption\. Use https:/);
    });
    it("accepts the hosts that are named", async () => {
      const config = { insecureHosts: ["mirror.example.org"] };
      assert.equal((await violations(imageUrl(), MACHINE, insecure, { config })).length, 1);
    });
  });

  describe("open-clients", () => {
    const cases: [string, boolean][] = [
      ["0.0.0.0/0", false],
      ["::/0", false],
      ["8.0.0.0/8", false],
      ["192.0.2.0/24", true],
      ["192.0.0.0/23", false],
      ["10.0.0.0/8", true],
      ["10.0.0.0/7", false],
      ["fd00::/8", true],
      ["2001:db8::/32", false],
      ["2001:db8:1::/48", true],
      ["everyone", false],
    ];
    for (const [client, fine] of cases) {
      it(`${fine ? "accepts" : "refuses"} ${client}`, async () => {
        const messages = await violations(openClients(), CHECK, check({ allowedClients: [client] }));
        assert.equal(messages.length, fine ? 0 : 1);
        if (!fine)
          assert.ok(messages[0]!.startsWith(`crawl-1: allowedClients[0] "${client}" is `), messages[0]);
      });
    }
    it("takes its limits from the factory and from config", async () => {
      const props = check({ allowedClients: ["8.0.0.0/8"] });
      assert.deepEqual(await violations(openClients({ shortestIPv4: 8 }), CHECK, props), []);
      assert.deepEqual(await violations(openClients(), CHECK, props, { config: { shortestIPv4: 8 } }), []);
    });
    it("finds a squid.conf that lets everyone in, and shows nothing of the user-data", async () => {
      for (const userData of [
        "write_files:\n - content: |\n     cache_peer_password hunter2\n     http_access allow all\n",
        '{"content": "acl x\\nhttp_access allow all\\n"}',
      ]) {
        const messages = await violations(openClients(), MACHINE, machine({ userData: packText(userData) }));
        assert.equal(messages.length, 1);
        assert.doesNotMatch(messages[0]!, /hunter2|acl x/);
      }
      for (const userData of ["# http_access allow all\n", "http_access allow all crawlers\n"])
        assert.deepEqual(await violations(openClients(), MACHINE, machine({ userData })), []);
    });
  });

  describe("clear-credentials", () => {
    it("finds passwords and keys, and shows neither", async () => {
      const url = "https://me:hunter2@images.example.org/a.qcow2";
      const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2";
      const found = [
        ...(await violations(clearCredentials(), MACHINE, image({ url }))),
        ...(await violations(clearCredentials(), MACHINE, machine({ host: { keyFile: key } }))),
        ...(await violations(clearCredentials(), CHECK, check({ target: { url } }))),
      ];
      assert.deepEqual(
        found.map((message) => message.split(" ").slice(0, 2).join(" ")),
        ["crawl-1: image.url", "crawl-1: host.keyFile", "crawl-1: target.url"],
      );
      assert.doesNotMatch(found.join(), /hunter2/);
    });
    it("leaves passwords out of what other rules show", async () => {
      const [message = ""] = await violations(
        imageUrl(),
        MACHINE,
        image({ url: "http://me:hunter2@a.example/b" }),
      );
      assert.match(message, /http:\/\/\*\*\*@a\.example/);
    });
  });

  describe("secret-inputs", () => {
    it("makes clear texts secrets and leaves secrets alone", () => {
      const clear = remediated(secretInputs(), MACHINE2, machine({ vendorData: new Secret("v") }));
      assert.ok(clear !== undefined && "userData" in clear && clear.userData instanceof Secret);
      assert.equal(clear.userData.value, machine().userData);
      assert.equal(remediated(secretInputs(), MACHINE, machine({ userData: new Secret("u") })), undefined);
      assert.equal(remediated(secretInputs(), CHECK, { userData: "not a machine's" }), undefined);
    });
  });
});
