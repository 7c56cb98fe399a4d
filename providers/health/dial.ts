import { connect, type Socket } from "node:net";
import { StageFailure } from "./report";

/** How long one address of a host name may take before the next is tried, in milliseconds (Node's 250 is too short across continents). */
const ADDRESS_ATTEMPT_MS = 2000;

export interface Dial {
  host: string;
  port: number;
  /** The source address to bind. Default: the one that the route gives. */
  localAddress?: string;
}

/**
 * Opens a TCP connection.
 *
 * @throws StageFailure ConnectRefused, ConnectTimeout (also when `signal` fires), Unreachable
 */
export function dial({ host, port, localAddress }: Dial, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(timedOut());
    const socket = connect({
      host,
      port,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    const abort = () => socket.destroy(timedOut());
    signal.addEventListener("abort", abort, { once: true });
    socket.once("connect", () => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
      // Who uses the socket sees a failure by its end; without a listener an error between two users would end the process.
      socket.on("error", () => socket.destroy());
      resolve(socket);
    });
    socket.once("error", fail);
    function fail(error: NodeJS.ErrnoException): void {
      signal.removeEventListener("abort", abort);
      reject(error instanceof StageFailure ? error : asFailure(error));
    }
  });
}

function timedOut(): StageFailure {
  return new StageFailure("ConnectTimeout", "does not take the connection in time");
}

function asFailure(error: NodeJS.ErrnoException): StageFailure {
  const code = error.code ?? error.message;
  if (code === "ECONNREFUSED" || code === "ECONNRESET") {
    return new StageFailure("ConnectRefused", `refuses the connection (${code})`);
  }
  if (code === "ETIMEDOUT") return timedOut();
  return new StageFailure("Unreachable", `cannot be reached from here (${code})`);
}
