import { Metadata, status } from "@grpc/grpc-js";

import provider = require("@pulumi/pulumi/proto/provider_pb");
import statusProto = require("@pulumi/pulumi/proto/status_pb");
import any = require("google-protobuf/google/protobuf/any_pb");
import struct = require("google-protobuf/google/protobuf/struct_pb");

import type { InitFailedError } from "./init-failed";

/**
 * What is thrown to the SDK's dynamic-provider process. That process prints
 * `${error}: ${error.stack}` before it passes the error on; the engine shows
 * the message once more under its resource. So both print as nothing here, and
 * `muteEngineErrors` drops the line that is left.
 */
export class EngineError extends Error {
  constructor(message: string) {
    super(message);
    this.stack = "";
  }
  override toString(): string {
    return "";
  }
}

const EMPTY_LINE = ": ";

export function muteEngineErrors(target: Console): void {
  const error = target.error.bind(target);
  target.error = (...args: unknown[]) => {
    if (args.length !== 1 || args[0] !== EMPTY_LINE) error(...args);
  };
}

/** From create and update: the SDK itself packs `id`, `properties` and `reasons`. */
export class EngineInitFailed extends EngineError {
  readonly id: string;
  readonly properties: Record<string, unknown>;
  readonly reasons: string[];
  constructor(failure: InitFailedError, providerText: unknown) {
    super(failure.message);
    this.id = failure.id;
    this.properties = { ...failure.properties, __provider: providerText };
    this.reasons = failure.reasons;
  }
}

/** From read the SDK packs nothing, so the gRPC status is made here (pulumirpc.ErrorResourceInitFailed). */
export class EngineReadInitFailed extends EngineError {
  readonly code = status.UNKNOWN;
  readonly details: string;
  readonly metadata = new Metadata();
  constructor(failure: InitFailedError, providerText: unknown) {
    super(failure.message);
    this.details = failure.message;
    const detail = new provider.ErrorResourceInitFailed();
    detail.setId(failure.id);
    detail.setProperties(
      struct.Struct.fromJavaScript({ ...failure.properties, __provider: providerText } as Record<
        string,
        struct.JavaScriptValue
      >),
    );
    detail.setReasonsList(failure.reasons);
    const packed = new any.Any();
    packed.pack(detail.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
    const answer = new statusProto.Status();
    answer.setCode(status.UNKNOWN);
    answer.setMessage(failure.message);
    answer.addDetails(packed);
    this.metadata.add("grpc-status-details-bin", Buffer.from(answer.serializeBinary()));
  }
}
