import type { ChildProcess } from "node:child_process";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import * as pb from "@pulumi/pulumi/proto/language_pb";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { version } from "@pulumi/pulumi/version";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import type { Children } from "./children";
import { runPolicyPack } from "./policy-pack";
import {
  BAIL_STATUS,
  programArguments,
  programEnvironment,
  programStart,
  resolveFrom,
  startFailure,
} from "./program";

/**
 * The LanguageRuntime service of Pulumi's engine (proto/pulumi/language.proto), as far as compiled Node
 * programs and policy packs need it. What it leaves out (code generation, installing dependencies) answers
 * UNIMPLEMENTED.
 */
export function languageRuntime(engineAddress: string, children: Children): UntypedServiceImplementation {
  const run: handleUnaryCall<pb.RunRequest, pb.RunResponse> = (call, callback) => {
    const start = programStart(call.request);
    const failed = (text: string) => callback(null, new pb.RunResponse().setError(text));
    let runner: string;
    try {
      runner = resolveFrom(start.pwd, "@pulumi/pulumi/cmd/run");
    } catch {
      failed(`@pulumi/pulumi is not installed for the program in ${start.pwd}; run npm ci there`);
      return;
    }
    const environment = programEnvironment(start);
    let child: ChildProcess;
    try {
      child = children.start(programArguments(start, runner, engineAddress), {
        cwd: start.pwd,
        stdio: ["ignore", "inherit", "inherit"],
        env: { ...process.env, ...environment },
      });
    } catch (error) {
      // Some failures of a start are thrown, others come as an event.
      failed(startFailure(error, environment.PULUMI_CONFIG));
      return;
    }
    child.once("error", (error) => failed(startFailure(error, environment.PULUMI_CONFIG)));
    child.once("exit", (code, signal) => {
      if (code === 0) callback(null, new pb.RunResponse());
      else if (code === BAIL_STATUS) callback(null, new pb.RunResponse().setBail(true));
      else failed(`the program ended with ${signal ?? `status ${code}`}`);
    });
  };

  const runPlugin: handleServerStreamingCall<pb.RunPluginRequest, pb.RunPluginResponse> = (call) => {
    if (call.request.getKind() === "analyzer") runPolicyPack(call, children);
    else call.emit("error", unimplemented(`RunPlugin for the kind "${call.request.getKind()}"`));
  };

  const implemented = {
    handshake: answer(() => new pb.LanguageHandshakeResponse()),
    getRequiredPlugins: answer(() => new pb.GetRequiredPluginsResponse()),
    getRequiredPackages: answer(() => new pb.GetRequiredPackagesResponse()),
    getPluginInfo: answer(() => new PluginInfo().setVersion(version)),
    runtimeOptionsPrompts: answer(() => new pb.RuntimeOptionsResponse()),
    about: answer(() => new pb.AboutResponse().setExecutable(process.execPath).setVersion(process.version)),
    cancel: answer(() => {
      void children.stop();
      return new Empty();
    }),
    run,
    runPlugin,
  };
  const missing = [
    "installDependencies",
    "template",
    "getProgramDependencies",
    "generateProgram",
    "generateProject",
    "generatePackage",
    "pack",
    "link",
  ];
  return { ...implemented, ...Object.fromEntries(missing.map((name) => [name, refuse(name)])) };
}

function answer<T>(make: () => T): handleUnaryCall<unknown, T> {
  return (_call, callback) => callback(null, make());
}

function refuse(name: string) {
  return (call: { emit(event: "error", error: Error): boolean }, callback?: sendUnaryData<unknown>) => {
    // A streaming method gets no callback.
    if (callback) callback(unimplemented(name));
    else call.emit("error", unimplemented(name));
  };
}

function unimplemented(what: string) {
  return Object.assign(new Error(`${what} is not part of this language host`), {
    code: status.UNIMPLEMENTED,
  });
}
