import { connect, createServer, type Server, type Socket } from "node:net";
import { isWithin } from "@egress-proxies/providers/health/addresses";
import { close, listen, track } from "./server";

export interface SeenRequest {
  from: string;
  method: string;
  /** As it stood in the request line. */
  destination: string;
}

export interface ProxyOptions {
  /** Default: 127.0.0.1 alone, so that 127.0.0.2 is a stranger. */
  allowedClients?: string[];
  /** Default: false; true opens the proxy's own loopback to its clients. */
  allowPrivate?: boolean;
  /** `host:port` as the client asks for it, and the local port that plays it. The proxy's own name service. */
  names?: Record<string, number>;
  /** Answers instead of the proxy what its rules let through. */
  misbehave?: (socket: Socket) => void;
  /** Takes every connection before a byte is read. */
  onConnection?: (socket: Socket) => void;
}

/** A forward proxy on 127.0.0.1 with squid's rules and words, as good or as bad as a test wants it. */
export class TestProxy {
  readonly seen: SeenRequest[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(readonly options: ProxyOptions = {}) {
    this.#server = createServer((socket) => this.#accept(socket));
  }

  listen(port = 0): Promise<number> {
    return listen(this.#server, port);
  }

  close(): Promise<void> {
    return close(this.#server, this.#sockets);
  }

  /** The bytes that all connections so far were sent. */
  get bytesSent(): number {
    return this.#sent + [...this.#sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0);
  }
  #sent = 0;

  #accept(socket: Socket): void {
    track(this.#sockets, socket);
    socket.on("close", () => {
      this.#sent += socket.bytesWritten;
    });
    const { onConnection = (taken) => this.#readHead(taken) } = this.options;
    onConnection(socket);
  }

  #readHead(socket: Socket): void {
    let head = "";
    const onData = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData);
      this.#serve(socket, head);
    };
    socket.on("data", onData);
  }

  #serve(socket: Socket, head: string): void {
    const { allowedClients = ["127.0.0.1/32"], allowPrivate = false, names = {}, misbehave } = this.options;
    const [method = "", destination = ""] = head.split(" ");
    const from = socket.remoteAddress ?? "";
    this.seen.push({ from, method, destination });
    const key = method === "CONNECT" ? destination : new URL(destination).host;
    const port = names[key];
    if (!isWithin(allowedClients, from) || (key.startsWith("127.") && !allowPrivate)) {
      refuse(socket, 403, "ERR_ACCESS_DENIED 0");
    } else if (misbehave) misbehave(socket);
    else if (port !== undefined) this.#relay(socket, port, method === "CONNECT" ? "" : head);
    else refuse(socket, 503, allowPrivate ? "ERR_CONNECT_FAIL 111" : "ERR_DNS_FAIL 0");
  }

  /** @param head what the client asked, to be passed on; empty for a tunnel */
  #relay(socket: Socket, port: number, head: string): void {
    const upstream = connect(port, "127.0.0.1", () => {
      if (head === "") socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      // From the absolute form to the origin form.
      else upstream.write(head.replace(/ http:\/\/[^/ ]+/, " "), "latin1");
      socket.pipe(upstream).pipe(socket);
    });
    track(this.#sockets, upstream);
  }
}

export function refuse(socket: Socket, status: number, squidError?: string): void {
  const error = squidError === undefined ? "" : `X-Squid-Error: ${squidError}\r\n`;
  socket.end(`HTTP/1.1 ${status} No\r\n${error}Content-Length: 0\r\nConnection: close\r\n\r\n`);
}

/** Writes the same again and again, as fast as the other end takes it. */
export function flood(socket: Socket, first: string, again: string): void {
  socket.write(first);
  const more = () => {
    while (!socket.destroyed && socket.write(again)) {}
  };
  socket.on("drain", more);
  more();
}

/** Writes one byte of an endless answer every 20 ms. */
export function drip(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
  const timer = setInterval(() => socket.write("x"), 20);
  socket.on("close", () => clearInterval(timer));
}
