export { type ConnectOptions, connectSsh, type SshConnection } from "./connection";
export { type SshEnvironment, systemEnvironment } from "./environment";
export {
  CommandFailedError,
  ConnectionLostError,
  ForwardingRefusedError,
  SocketUnavailableError,
} from "./errors";
export { type PoolOptions, type Purpose, type SshLease, SshPool } from "./pool";
