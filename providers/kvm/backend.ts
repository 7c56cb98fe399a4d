import { type Clock, retryTransient, systemClock } from "../machine/retry";
import type { KvmHost, KvmMachineInputs } from "../machine/spec";
import type { Backend, RunContext } from "../pulumi/backend";
import { InitFailedError } from "../pulumi/init-failed";
import { currentAddress, waitForAddress } from "./boot";
import { checkMachine } from "./check";
import { diffMachine } from "./diff";
import { type EnsureBase, type Ensured, ensureMachine } from "./ensure";
import { onHost } from "./faults";
import type { BaseOf } from "./naming";
import { type KvmMachineOutputs, outputsOf } from "./outputs";
import { readMachine } from "./read";
import { removeMachine } from "./remove";
import type { HostSession } from "./session";

export interface KvmEnvironment {
  /** Runs `work` with the host's shared session, and keeps that open meanwhile. */
  withSession<T>(host: KvmHost, work: (session: HostSession) => Promise<T>): Promise<T>;
  /** Which base a machine hangs on; `ensureBase` brings that very one. */
  baseOf: BaseOf;
  ensureBase: EnsureBase;
  /** A short text that differs at every call. */
  random(): string;
  clock?: Clock;
}

/** A machine that is not where its host is now reached may still be where the host was reached before. */
function warnIfMoved({ host: old }: KvmMachineOutputs, { host, owner }: KvmMachineInputs, run: RunContext) {
  if (old.address === host.address) return;
  run.warn(
    `host ${host.name}: it was reached at ${old.address}, now at ${host.address}, where the machine ` +
      `"${owner.name}" was not: it was made there. If ${old.address} is another host, the old machine still ` +
      `runs there: remove it with \`virsh\`, and next time give another host another name`,
  );
}

const RETRY = { attempts: 4, delayMs: 1_000, maxDelayMs: 8_000 };

export function kvmBackend(environment: KvmEnvironment): Backend<KvmMachineInputs, KvmMachineOutputs> {
  const clock = environment.clock ?? systemClock;

  /** Every step on a host can be run again, so what is transient simply is. */
  function onSession<T>(
    host: KvmHost,
    run: RunContext,
    work: (session: HostSession) => Promise<T>,
  ): Promise<T> {
    const attempt = () => environment.withSession(host, (session) => onHost(host, () => work(session)));
    return retryTransient(attempt, {
      ...RETRY,
      clock,
      giveUp: run.signal,
      onRetry: (error, count) => run.progress(`${error.message} (attempt ${count}, trying again)`),
    });
  }

  /** `before` is what the state knows of this machine, if it does. */
  async function settle(
    inputs: KvmMachineInputs,
    before: KvmMachineOutputs | undefined,
    run: RunContext,
  ): Promise<KvmMachineOutputs> {
    const { owner, host } = inputs;
    // A second attempt finds running what the first one started: that still counts as started by us.
    let own: Ensured | undefined;
    const ip = await onSession(host, run, async (session) => {
      const ensured = await ensureMachine(session, inputs, environment.ensureBase, run);
      if (ensured.started) own = ensured;
      const { leaseBefore } = own ?? ensured;
      if (inputs.wait === "address") {
        const timeoutMs = inputs.bootTimeoutSeconds * 1000;
        return waitForAddress(session, owner, { leaseBefore, timeoutMs, clock, run });
      }
      return own === undefined ? currentAddress(session, await session.calls(), owner) : undefined;
    });
    if (own?.made && before !== undefined) warnIfMoved(before, inputs, run);
    const started = own !== undefined;
    const generation = before === undefined || started ? environment.random() : before.generation;
    const outputs = outputsOf(inputs, { ip: ip ?? before?.ip ?? "", generation });
    if (ip === undefined && inputs.wait === "address") {
      throw new InitFailedError(outputs.uuid, { ...outputs }, [
        `host ${host.name}: the machine "${owner.name}" runs but has shown no address within ` +
          `${inputs.bootTimeoutSeconds} s. Look at \`virsh console ${owner.name}\`, ` +
          "raise `bootTimeoutSeconds`, or look whether the network gives out addresses",
      ]);
    }
    return outputs;
  }

  return {
    check: (olds, news) => checkMachine(olds, news, environment.baseOf),
    diff: diffMachine,
    async create(inputs, run) {
      const outputs = await settle(inputs, undefined, run);
      return { id: outputs.uuid, outputs };
    },
    async read(id, outputs, run) {
      const { owner, host } = outputs;
      const reading = await onSession(host, run, (session) => readMachine(session, outputs));
      if (reading.kind === "absent") {
        run.warn(
          `host ${host.name}: the machine "${owner.name}" is gone; the next \`pulumi up\` makes it anew`,
        );
        return undefined;
      }
      if (reading.kind === "unwell") {
        throw new InitFailedError(id, { ...outputs }, [
          `host ${host.name}: the machine "${owner.name}" ${reading.problem}`,
        ]);
      }
      return { ...outputs, ip: reading.ip ?? outputs.ip };
    },
    update: (_id, olds, news, run) => settle(news, olds, run),
    delete: (_id, outputs, run) =>
      onSession(outputs.host, run, (session) => removeMachine(session, outputs.owner)),
  };
}
