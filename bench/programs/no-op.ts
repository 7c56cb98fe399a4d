/**
 * A program as large as a pool of proxies, whose resources do nothing: what Pulumi itself costs. As
 * our own, its resources bring their provider as a constant text, so that no closure is serialized.
 */
import { ComponentResource, Config, CustomResource } from "@pulumi/pulumi";

const PROVIDER =
  'exports.handler = () => ({ create: async () => ({ id: "no-op", outs: {} }), read: async (id, props) => ({ id, props }) });';

class NoOp extends CustomResource {
  static readonly __pulumiType = "pulumi-nodejs:dynamic/bench:NoOp";

  constructor(name: string, input: NoOp | string, parent: ComponentResource) {
    super(
      NoOp.__pulumiType,
      name,
      { input: typeof input === "string" ? input : input.id, __provider: PROVIDER },
      { parent },
    );
  }
}

const pool = new ComponentResource("bench:index:Pool", "pool");
for (let at = 0; at < new Config("bench").requireNumber("size"); at++) {
  const proxy = new ComponentResource("bench:index:Proxy", `proxy-${at}`, {}, { parent: pool });
  const machine = new NoOp(`proxy-${at}-machine`, "none", proxy);
  new NoOp(`proxy-${at}-check`, machine, proxy);
}
