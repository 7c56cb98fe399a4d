import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse, stringify } from "yaml";

const ROOT = resolve(__dirname, "../../..");

export interface Result {
  code: number | null;
  /** Both streams, as a person sees them. */
  text: string;
}

export interface ProxyOutput {
  name: string;
  pool: string;
  provider: string;
  host: string;
  url: string;
  ip: string;
  port: number;
  maxLeases: number;
  ready: boolean;
  reason: string;
}

/** Values that `npm test` hands to the tests. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run these tests with \`npm run test:e2e\``);
  return value;
}

/** A stack of its own, with its own folder, backend and passphrase, driven by the real CLI. */
export class Stack {
  readonly directory = mkdtempSync(join(tmpdir(), "egress-e2e-"));

  constructor(
    readonly name: string,
    readonly project = "egress-proxies",
    main = "dist/stacks/index.js",
  ) {
    for (const folder of ["node_modules", "dist"])
      symlinkSync(join(ROOT, folder), join(this.directory, folder));
    this.write("package.json", JSON.stringify({ name: project, main }));
    this.write(
      "Pulumi.yaml",
      stringify({ name: project, runtime: { name: "nodejs", options: { typescript: false } } }),
    );
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.directory, file), text);
  }

  /** Creates the stack; the config is written afterwards, since creation writes a salt into the same file. */
  async init(): Promise<void> {
    const { code, text } = await this.pulumi("stack", "init", this.name);
    if (code !== 0) throw new Error(`pulumi stack init failed: ${text}`);
  }

  /** Replaces the stack's whole config; the salt of its secrets stays. */
  configure(config: { providers: unknown; pools: unknown }): void {
    const file = `Pulumi.${this.name}.yaml`;
    const { encryptionsalt } = parse(readFileSync(join(this.directory, file), "utf8")) as {
      encryptionsalt: string;
    };
    const values = { "egress:providers": config.providers, "egress:pools": config.pools };
    this.write(file, stringify({ encryptionsalt, config: values }));
  }

  /** Sets a secret at a path of the config, as `pulumi config set --secret` does it: by standard input. */
  async setSecret(path: string, value: string): Promise<void> {
    const { child, result } = this.start("config", "set", "--secret", "--path", path);
    child.stdin!.end(value);
    const { code, text } = await result;
    if (code !== 0) throw new Error(`pulumi config set failed: ${text}`);
  }

  environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      PATH: `${setting("EGRESS_TEST_BIN")}:${process.env.PATH}`,
      PULUMI_BACKEND_URL: `file://${this.directory}`,
      PULUMI_CONFIG_PASSPHRASE: "test",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    };
  }

  /** Starts the CLI in a process group of its own; who starts it ends it. */
  start(...args: string[]): { child: ChildProcess; result: Promise<Result> } {
    const child = spawn("pulumi", [...args, "--non-interactive", "--color", "never"], {
      cwd: this.directory,
      env: this.environment(),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    if (args[0] !== "config") child.stdin.end();
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    const result = new Promise<Result>((done, fail) => {
      child.once("error", fail);
      // A killed CLI leaves children with the same pipes: its own end is what counts.
      child.once("exit", (code) =>
        setImmediate(() => done({ code, text: Buffer.concat(chunks).toString() })),
      );
    });
    return { child, result };
  }

  pulumi(...args: string[]): Promise<Result> {
    return this.start(...args).result;
  }

  up(): Promise<Result> {
    return this.pulumi("up", "--yes", "--skip-preview");
  }

  refresh(): Promise<Result> {
    return this.pulumi("refresh", "--yes", "--skip-preview");
  }

  destroy(): Promise<Result> {
    return this.pulumi("destroy", "--yes", "--skip-preview");
  }

  async proxies(): Promise<ProxyOutput[]> {
    const { code, text } = await this.pulumi("stack", "output", "proxies", "--json");
    if (code !== 0) throw new Error(`pulumi stack output failed: ${text}`);
    return JSON.parse(text) as ProxyOutput[];
  }

  async exported(): Promise<string> {
    return (await this.pulumi("stack", "export")).text;
  }

  dispose(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
