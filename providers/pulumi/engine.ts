import { connect } from "node:net";
import { credentials } from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";
import { interrupted } from "../machine/safe-point";

/** The engine that a dynamic-provider process works for: its log, and whether it still lives. */
export interface Engine {
  readonly signal: AbortSignal;
  log(severity: "info" | "warning", message: string, ephemeral: boolean): void;
  /** Runs an operation. A process whose run is over ends as soon as nothing is at work any more. */
  during<T>(operation: () => Promise<T>): Promise<T>;
}

/** Outside of a provider process (tests, tools) there is no engine: nothing is logged, nothing ends. */
export const noEngine: Engine = {
  signal: new AbortController().signal,
  log: () => {},
  during: (operation) => operation(),
};

/** How long a provider process may finish its safe points after the run is over, in milliseconds. */
const SETTLE_MS = 25_000;
/** How long the last operation's answer may be on its way to the engine, in milliseconds. */
const ANSWER_MS = 200;

/**
 * Connects to the engine at `address` (`host:port`, the process's first
 * argument). A killed CLI leaves this process running with creates half done
 * (it is no longer anyone's child), so an open socket to the engine serves as
 * its heartbeat: when it closes and a new one is refused, the run is over.
 * SIGINT ends the run the same way: work stops at its next safe point. The
 * engine sends it at the end of every run, and waits until the process is gone.
 */
export function connectEngine(address: string): Engine {
  const controller = new AbortController();
  const client = new EngineClient(address, credentials.createInsecure());
  let operations = 0;
  const end = (why: string) => {
    if (controller.signal.aborted) return;
    controller.abort(interrupted(why));
    if (operations === 0) process.exit(0);
    setTimeout(() => process.exit(1), SETTLE_MS).unref();
  };
  process.once("SIGINT", () => end("interrupted"));
  watch(address, () => end("the engine is gone"));
  return {
    signal: controller.signal,
    log(severity, message, ephemeral) {
      const request = new LogRequest();
      request.setSeverity(severity === "warning" ? LogSeverity.WARNING : LogSeverity.INFO);
      request.setMessage(message);
      request.setEphemeral(ephemeral);
      // A remark that is lost harms nobody, and a dead engine is noticed by the socket.
      client.log(request, () => {});
    },
    async during(operation) {
      operations += 1;
      try {
        return await operation();
      } finally {
        operations -= 1;
        if (operations === 0 && controller.signal.aborted) {
          setTimeout(() => operations === 0 && process.exit(0), ANSWER_MS);
        }
      }
    },
  };
}

function watch(address: string, gone: () => void): void {
  const split = address.lastIndexOf(":");
  const socket = connect(Number(address.slice(split + 1)), address.slice(0, split));
  let opened = false;
  socket.unref();
  socket.once("connect", () => {
    opened = true;
  });
  // The engine's server speaks first, and what is not read hides the end behind it.
  socket.resume();
  // The server closes a socket that never speaks after a while; only a refused new one is proof.
  socket.once("close", () => (opened ? watch(address, gone) : gone()));
  socket.on("error", () => {});
}
