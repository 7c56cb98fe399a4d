import assert from "node:assert/strict";
import { parseConfig } from "../../../stacks/config/parse";
import { listing } from "../../../stacks/config/problem";
import type { RawConfig } from "../../../stacks/config/rules/rule";
import { configWarnings } from "../../../stacks/config/warnings";
import { context, pool, sample } from "./sample";

function warningsOf(raw: RawConfig, files: Record<string, string> = {}, secretKeys?: string[]): string[] {
  const result = parseConfig(raw, context);
  if ("problems" in result) assert.fail(listing(result.problems));
  return configWarnings(result.config, { files, secretKeys });
}

const squidOn = (port: number) => `#cloud-config\nwrite_files:\n  - content: |\n      http_port ${port}\n`;

describe("configWarnings", () => {
  it("says at its path which user-data makes squid listen on another port, once each", () => {
    const members = {
      a: null,
      b: { port: 8080 },
      c: { port: 8081 },
      d: { cloudInit: { secretRef: "shared" } },
      e: { cloudInit: { file: "squid.yaml" } },
    };
    const raw = {
      ...sample({
        crawl: pool({ members, cloudInit: { inline: squidOn(8080) } }),
        shop: pool({ size: 9, cloudInit: { inline: squidOn(8088) } }),
      }),
      cloudInit: { shared: squidOn(3129) },
    };
    assert.deepEqual(warningsOf(raw, { "squid.yaml": squidOn(3130) }), [
      "egress:pools.crawl.cloudInit.inline: makes squid listen on 8080, but the proxy's port is 3128. Set port to 8080, or http_port to 3128.",
      "egress:pools.crawl.cloudInit.inline: makes squid listen on 8080, but the proxy's port is 8081. Set port to 8080, or http_port to 8081.",
      "egress:pools.crawl.members.d.cloudInit.secretRef: makes squid listen on 3129, but the proxy's port is 3128. Set port to 3129, or http_port to 3128.",
      "egress:pools.crawl.members.e.cloudInit.file: makes squid listen on 3130, but the proxy's port is 3128. Set port to 3130, or http_port to 3128.",
      "egress:pools.shop.cloudInit.inline: makes squid listen on 8088, but the proxy's port is 3128. Set port to 8088, or http_port to 3128.",
    ]);
  });

  it("is silent about a port that fits, about texts that name none, and about generated squids", () => {
    const pools = {
      a: pool({ size: 1 }),
      b: pool({ size: 1, port: 8080, cloudInit: { inline: squidOn(8080) } }),
      c: pool({ size: 1, cloudInit: { inline: "#!/bin/sh\n" } }),
      d: pool({ members: { x: { port: 8080 } }, cloudInit: { inline: squidOn(8080) } }),
    };
    assert.deepEqual(warningsOf(sample(pools)), []);
  });

  it("warns of user-data texts that are not encrypted, without showing them", () => {
    const raw = { ...sample(), cloudInit: { shared: "#cloud-config\n# canary\n" } };
    const [warning, ...rest] = warningsOf(raw, {}, []);
    assert.match(warning!, /^egress:cloudInit: stands in clear text/);
    assert.doesNotMatch(warning!, /canary/);
    assert.deepEqual(rest, []);
    assert.deepEqual(warningsOf(raw, {}, ["egress:cloudInit"]), []);
    assert.deepEqual(warningsOf(raw, {}, undefined), [], "nobody knows");
    assert.deepEqual(warningsOf(sample(), {}, []), []);
  });
});
