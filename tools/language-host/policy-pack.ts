import type { ServerWritableStream } from "@grpc/grpc-js";
import { type RunPluginRequest, RunPluginResponse } from "@pulumi/pulumi/proto/language_pb";
import type { Children } from "./children";
import { resolveFrom } from "./program";

/** Starts a policy pack in the SDK's own runner; its output and status go back on the stream. */
export function runPolicyPack(
  call: ServerWritableStream<RunPluginRequest, RunPluginResponse>,
  children: Children,
): void {
  const request = call.request;
  const directory = request.getInfo()?.getProgramDirectory() || request.getProgram();
  const end = (code: number, text?: string) => {
    if (text !== undefined) call.write(new RunPluginResponse().setStderr(Buffer.from(`${text}\n`)));
    call.write(new RunPluginResponse().setExitcode(code));
    call.end();
  };
  let runner: string;
  try {
    runner = resolveFrom(directory, "@pulumi/pulumi/cmd/run-policy-pack");
  } catch {
    end(1, `@pulumi/pulumi is not installed for the policy pack in ${directory}; run npm ci there`);
    return;
  }
  const child = children.start([runner, ...request.getArgsList(), directory], {
    // Not request.getPwd(), the stack's project: @pulumi/policy reads the pack's version from ./package.json.
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(request.getEnvList()),
  });
  child.stdout?.on("data", (chunk: Buffer) => call.write(new RunPluginResponse().setStdout(chunk)));
  child.stderr?.on("data", (chunk: Buffer) => call.write(new RunPluginResponse().setStderr(chunk)));
  child.once("error", (error) => end(1, `node could not be started: ${error.message}`));
  // "close" comes after the last byte of both outputs, "exit" may come before it.
  child.once("close", (code) => end(code ?? 1));
  call.on("cancelled", () => void children.stopOne(child));
}

/** `["A=1", "B=x=y"]` as an environment; the engine sends a whole one, PATH included. */
export function environment(list: string[]): Record<string, string> {
  return Object.fromEntries(
    list.map((entry) => {
      const at = entry.indexOf("=");
      return at < 0 ? [entry, ""] : [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
}
