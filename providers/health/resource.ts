import type { CustomResourceOptions, Input, Inputs, Output, Unwrap } from "@pulumi/pulumi";
import { PointerResource } from "../pulumi/resource";
import type { ProxyCheckInputs } from "./spec";

export type ProxyCheckArgs = { [K in keyof ProxyCheckInputs]: Input<Unwrap<ProxyCheckInputs[K]>> };

/** Waits until a proxy answers through itself, and says on refresh whether it still does. Nothing replaces. */
export class ProxyCheck extends PointerResource {
  static readonly __pulumiType = "pulumi-nodejs:dynamic/egress:ProxyCheck";
  declare readonly ready: Output<boolean>;
  /** `Ready`, or the first stage that failed. */
  declare readonly reason: Output<string>;
  declare readonly message: Output<string>;
  declare readonly lastTransitionTime: Output<string>;

  constructor(name: string, args: ProxyCheckArgs, options?: CustomResourceOptions) {
    super(
      "proxyCheck",
      "ProxyCheck",
      name,
      { ...args } satisfies Inputs,
      ["ready", "reason", "message", "lastTransitionTime"],
      options,
    );
  }
}
