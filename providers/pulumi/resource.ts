import { CustomResource, type CustomResourceOptions, type Inputs } from "@pulumi/pulumi";
import { type BackendKind, pointer } from "./pointer";

/**
 * A dynamic resource whose `__provider` is the constant pointer instead of
 * serialized code: it captures nothing, costs no closure serialization, and is
 * the same text under every compiler.
 */
export abstract class PointerResource extends CustomResource {
  /**
   * @param type the part after `pulumi-nodejs:dynamic/egress:`
   * @param outputs properties that only the provider knows; they are unknown until it has run
   */
  protected constructor(
    kind: BackendKind,
    type: string,
    name: string,
    args: Inputs,
    outputs: readonly string[],
    options?: CustomResourceOptions,
  ) {
    const unknown = Object.fromEntries(outputs.map((key) => [key, undefined]));
    super(
      `pulumi-nodejs:dynamic/egress:${type}`,
      name,
      { ...unknown, ...args, __provider: pointer(kind) },
      options,
    );
  }
}
