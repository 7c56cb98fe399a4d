import { randomBytes } from "node:crypto";
import type { dynamic } from "@pulumi/pulumi";
import { systemProxyCheckEnvironment } from "./health/environment";
import { createProxyCheckLifecycle } from "./health/lifecycle";
import { kvmBackend } from "./kvm/backend";
import { publishedBase } from "./kvm/base";
import { dialer } from "./kvm/dial";
import { type BaseOf, sharedBase } from "./kvm/naming";
import { HostSessions } from "./kvm/sessions";
import { entryBase } from "./kvm2/naming";
import { callLog } from "./log/call-log";
import { loggedEngine } from "./log/engine-log";
import { openLog } from "./log/logger";
import { systemClock } from "./machine/retry";
import { connectEngine, type Engine, noEngine } from "./pulumi/engine";
import { muteEngineErrors } from "./pulumi/engine-error";
import { guard } from "./pulumi/guard";
import type { BackendKind } from "./pulumi/pointer";

/** Wires the real backends together, for the process that this module is loaded into. */
export function createBackends(): Record<BackendKind, dynamic.ResourceProvider> {
  const bare = engineOfThisProcess();
  const log = openLog(process.env, (message) => bare.log("warning", message, false));
  const engine = loggedEngine(bare, log);
  const sessions = new HostSessions(dialer(undefined, callLog(log)), systemClock);
  const kvm = (baseOf: BaseOf) =>
    kvmBackend({
      withSession: (host, work) => sessions.use(host, work),
      baseOf,
      ensureBase: publishedBase(baseOf),
      random: () => randomBytes(4).toString("hex"),
    });
  return {
    kvm: guard(kvm(sharedBase), engine),
    kvm2: guard(kvm(entryBase), engine),
    proxyCheck: guard(createProxyCheckLifecycle(systemProxyCheckEnvironment()), engine),
  };
}

/** The engine calls a dynamic-provider process with its address as the first argument. */
function engineOfThisProcess(): Engine {
  const [, script, address] = process.argv;
  if (script === undefined || address === undefined || !script.includes("dynamic-provider")) return noEngine;
  muteEngineErrors(console);
  return connectEngine(address);
}
