import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface ProxyAnswer {
  status: number;
  /** squid's own reason where the answer is squid's and not the target's. */
  squidError: string | undefined;
  body: string;
}

export interface ProxyRequest {
  /** A URL, or `host:port` for CONNECT. */
  target: string;
  method?: "GET" | "CONNECT";
  /** The address that the client calls from. */
  from?: string;
  headers?: Record<string, string>;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  server.close();
  await once(server, "close");
  return address.port;
}

/** squid in the foreground, with files of its own in a temporary folder. */
export class RealSquid {
  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(program: string, port: number, conf: string): Promise<RealSquid> {
    const folder = mkdtempSync(join(tmpdir(), "egress-squid-"));
    chmodSync(folder, 0o777); // squid gives root up
    const path = join(folder, "squid.conf");
    const where = [
      `pid_filename ${folder}/squid.pid`,
      `cache_log ${folder}/cache.log`,
      `access_log stdio:${folder}/access.log`,
      `coredump_dir ${folder}`,
    ];
    writeFileSync(path, `${conf}${where.join("\n")}\n`);
    const child = spawn(program, ["-N", "-n", `test${port}`, "-f", path], { stdio: "ignore" });
    const squid = new RealSquid(port, folder, child);
    try {
      await squid.untilListening();
    } catch (error) {
      await squid.stop();
      throw error;
    }
    return squid;
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGTERM");
      const late = setTimeout(() => this.process.kill("SIGKILL"), 8000);
      await once(this.process, "exit");
      clearTimeout(late);
    }
    rmSync(this.folder, { recursive: true });
  }

  ask({ target, method = "GET", from = "127.0.0.1", headers = {} }: ProxyRequest): Promise<ProxyAnswer> {
    return new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port: this.port,
        localAddress: from,
        method,
        path: target,
        headers,
      };
      const call = request({ ...options, agent: false, timeout: 10_000 });
      call.on("timeout", () => call.destroy(new Error(`no answer for ${target}`)));
      call.on("error", reject);
      call.on("connect", (answer, socket) => {
        socket.destroy();
        resolve({ status: answer.statusCode ?? 0, squidError: errorOf(answer.headers), body: "" });
      });
      call.on("response", (answer) => {
        let body = "";
        answer.setEncoding("utf8").on("data", (text: string) => {
          body += text;
        });
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, squidError: errorOf(answer.headers), body }),
        );
      });
      call.end();
    });
  }

  private async untilListening(): Promise<void> {
    for (const deadline = Date.now() + 15_000; ; await pause(50)) {
      if (this.process.exitCode !== null || Date.now() > deadline) {
        const log = join(this.folder, "cache.log");
        throw new Error(`squid does not listen: ${existsSync(log) ? readFileSync(log, "utf8") : "no log"}`);
      }
      const socket = connect(this.port, "127.0.0.1");
      const listening = await new Promise<boolean>((resolve) => {
        socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
      });
      socket.destroy();
      if (listening) return;
    }
  }
}

function errorOf(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const value = headers["x-squid-error"];
  return typeof value === "string" ? value.split(" ")[0] : undefined;
}
