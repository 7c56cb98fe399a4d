import assert from "node:assert/strict";
import * as providers from "@egress-proxies/providers";
import { BACKEND_KINDS, pointer } from "@egress-proxies/providers/pulumi/pointer";

describe("pointer", () => {
  it("is this very text for ever: it stands in people's state", () => {
    assert.equal(
      pointer("kvm"),
      'exports.handler = () => require("@egress-proxies/providers").backends.kvm;',
    );
    assert.equal(
      pointer("kvm2"),
      'exports.handler = () => require("@egress-proxies/providers").backends.kvm2;',
    );
    assert.equal(
      pointer("proxyCheck"),
      'exports.handler = () => require("@egress-proxies/providers").backends.proxyCheck;',
    );
  });

  it("points at a provider for every kind", () => {
    for (const kind of BACKEND_KINDS) {
      const provider = providers.backends[kind];
      for (const method of ["check", "diff", "create", "read", "update", "delete"] as const) {
        assert.equal(typeof provider[method], "function", `${kind}.${method}`);
      }
    }
  });
});
