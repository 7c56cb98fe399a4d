import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { isIP, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { StageFailure } from "./report";

/** The longest head of an answer that is read, in bytes. */
const MAX_HEAD_BYTES = 16 * 1024;

/** The head of an answer. Its body is never read. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
}

/** The other end closed the connection before its answer was complete. */
export class ClosedEarly extends StageFailure {
  constructor() {
    super("ProtocolError", "closes the connection before it has answered");
  }
}

/**
 * Sends one request over an open connection and reads the head of the answer.
 * The connection is closed after it, except after a CONNECT that got a 2xx.
 * There is no agent: nothing here opens a connection.
 *
 * @param path the request target (RFC 9112, section 3.2): origin-, absolute- or authority-form
 * @throws StageFailure ResponseTimeout (when `signal` fires), ProtocolError; ClosedEarly
 */
export function exchange(
  socket: Socket,
  method: "GET" | "CONNECT",
  path: string,
  host: string,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => socket,
      method,
      path,
      headers: { host, "user-agent": "egress-proxies", accept: "*/*", connection: "close" },
      maxHeaderSize: MAX_HEAD_BYTES,
      signal,
    });
    const answered = (response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      if (method !== "CONNECT" || status < 200 || status > 299) socket.destroy();
      resolve({ status, headers: response.headers });
    };
    outgoing.on("response", (response) => {
      response.on("error", reject);
      answered(response);
    });
    outgoing.on("connect", (response, _socket, head) => {
      if (head.length > 0) socket.unshift(head);
      answered(response);
    });
    outgoing.on("error", (error) => reject(asFailure(error, signal)));
    // Also after an unasked-for 101, which ends without an error event.
    outgoing.on("close", () => reject(signal.aborted ? late() : new ClosedEarly()));
    outgoing.end();
  });
}

/**
 * Speaks TLS through a tunnel and verifies the other end's certificate.
 *
 * @param ca PEM certificates to trust instead of Node's
 * @throws StageFailure TlsFailed with OpenSSL's or Node's code, ResponseTimeout, ProtocolError
 */
export function secure(
  socket: Socket,
  host: string,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = tlsConnect({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
      ALPNProtocols: ["http/1.1"],
      // Explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot turn the proof off.
      rejectUnauthorized: true,
    });
    const abort = () => secured.destroy(late());
    signal.addEventListener("abort", abort, { once: true });
    secured.once("close", () => signal.removeEventListener("abort", abort));
    secured.once("secureConnect", () => resolve(secured));
    secured.on("error", (error: NodeJS.ErrnoException) => {
      if (error instanceof StageFailure) return reject(error);
      if (isClosed(error)) {
        return reject(new StageFailure("ProtocolError", "closes the tunnel during the TLS handshake"));
      }
      reject(new StageFailure("TlsFailed", `TLS with ${host} fails (${error.code ?? error.message})`));
    });
    if (signal.aborted) abort();
  });
}

function asFailure(error: NodeJS.ErrnoException, signal: AbortSignal): StageFailure {
  if (error instanceof StageFailure) return error;
  if (signal.aborted) return late();
  if (isClosed(error)) return new ClosedEarly();
  return new StageFailure(
    "ProtocolError",
    `answers with something that is no HTTP (${error.code ?? error.message})`,
  );
}

function late(): StageFailure {
  return new StageFailure("ResponseTimeout", "takes the connection but does not answer in time");
}

function isClosed({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE" || code === "ECONNABORTED";
}
