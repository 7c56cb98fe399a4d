import { connect } from "node:http2";

/**
 * Calls `gone` once when the engine's gRPC server at `address` (host:port) ends or cannot be reached.
 * gRPC speaks HTTP/2, so an open session without any call is enough to see the engine's death at once,
 * a `kill -9` included: the kernel then closes its sockets.
 */
export function watchEngine(address: string, gone: () => void): void {
  const session = connect(`http://${address}`);
  // An error is always followed by "close"; without a listener it would end this process before its children.
  session.on("error", () => session.destroy());
  session.once("close", gone);
}
