import type { AddressInfo, Server, Socket } from "node:net";

/** Listens on 127.0.0.1; port 0 takes a free one. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** Keeps a socket in `sockets` while it is open. A peer that goes away is no fault of a test server. */
export function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => sockets.delete(socket));
}

export function close(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
