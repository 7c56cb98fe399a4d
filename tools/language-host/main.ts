/**
 * `pulumi-language-nodejs`: what Pulumi's engine starts to run Node programs and policy packs.
 * Used where the official one, which comes with the official Pulumi CLI, cannot be had.
 *
 * Usage: main.js [flags] ENGINE_ADDRESS. Prints the port it serves on as its first line, as plugins do,
 * and ends when the engine at ENGINE_ADDRESS is gone, however that died.
 */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { LanguageRuntimeService } from "@pulumi/pulumi/proto/language_grpc_pb";
import { Children } from "./children";
import { watchEngine } from "./engine-watch";
import { languageRuntime } from "./server";

/** The engine sends whole configs and gets whole programs' answers: gRPC's 4 MiB are too little. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

const engineAddress = process.argv.slice(2).find((argument) => !argument.startsWith("-"));
if (engineAddress === undefined) {
  console.error(
    "pulumi-language-nodejs: the engine's address is missing. Pulumi starts this program, not people.",
  );
  process.exit(2);
}

const children = new Children();
const server = new Server({ "grpc.max_receive_message_length": MAX_MESSAGE_BYTES });

async function end(status: number, signal?: NodeJS.Signals): Promise<void> {
  await children.stop(signal);
  process.exit(status);
}
process.once("SIGINT", () => void end(130, "SIGINT"));
process.once("SIGTERM", () => void end(143));

server.addService(LanguageRuntimeService, languageRuntime(engineAddress, children));
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) {
    console.error(`pulumi-language-nodejs: no port to serve on: ${error.message}`);
    process.exit(1);
  }
  process.stdout.write(`${port}\n`);
  watchEngine(engineAddress, () => void end(0));
});
