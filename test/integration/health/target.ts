import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Server, Socket } from "node:net";
import type { KeyPair } from "./certificates";
import { close, listen, track } from "./server";

/** What crawlers visit: answers every request with the status that the test sets. */
export class TestTarget {
  status = 204;
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(tls?: KeyPair) {
    this.#server =
      tls === undefined
        ? createHttpServer((_request, response) => response.writeHead(this.status).end())
        : createHttpsServer(tls, (_request, response) => response.writeHead(this.status).end());
    this.#server.on("connection", (socket: Socket) => {
      this.connections++;
      track(this.#sockets, socket);
    });
  }

  listen(): Promise<number> {
    return listen(this.#server);
  }

  close(): Promise<void> {
    return close(this.#server, this.#sockets);
  }
}
