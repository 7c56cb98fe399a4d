import { unpackText } from "@egress-proxies/providers/machine/packed-text";
import { type Output, runtime } from "@pulumi/pulumi";

/** A resource as it reached the engine. */
export interface Registered {
  type: string;
  name: string;
  inputs: Record<string, unknown>;
  custom: boolean;
}

export const MACHINE = "pulumi-nodejs:dynamic/egress:KvmMachine";
export const MACHINE2 = "pulumi-nodejs:dynamic/egress:Kvm2Machine";
export const CHECK = "pulumi-nodejs:dynamic/egress:ProxyCheck";
export const PROXY = "egress:index:Proxy";
export const POOL = "egress:index:ProxyPool";

/** Addresses of machines by resource name; others are 192.0.2.1. */
export type Addresses = Readonly<Record<string, string>>;

/**
 * Stands in for the engine: takes every resource and answers as the providers
 * would. The list that it returns fills up as resources are registered.
 */
export function fakeEngine(addresses: Addresses = {}): Registered[] {
  const registered: Registered[] = [];
  runtime.setMocks(
    {
      // Asked for the stack's own state: nothing was deployed before.
      call: () => ({ outputs: {} }),
      newResource: ({ type, name, inputs, custom }) => {
        registered.push({ type, name, inputs: unpacked(inputs), custom: custom === true });
        return { id: `${name}-id`, state: { ...inputs, ...outputsOf(type, name, addresses) } };
      },
    },
    "egress-proxies",
    "dev",
    false,
    "organization",
  );
  return registered;
}

function outputsOf(type: string, name: string, addresses: Addresses): object {
  if (type === MACHINE || type === MACHINE2) {
    return { uuid: "u", mac: "m", ip: addresses[name] ?? "192.0.2.1", generation: `${name}-g1` };
  }
  return type === CHECK ? { ready: true, reason: "Ready", message: "", lastTransitionTime: "" } : {};
}

/** The key that marks a wrapped value in the engine's protocol, and its value for secrets. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** A secret as it reaches the engine. */
export function secretOf(value: unknown): object {
  return { [SIGNATURE]: SECRET, value };
}

/** The inputs as a machine's provider reads them: user-data reaches the engine packed, and as a secret. */
function unpacked(inputs: Record<string, unknown>): Record<string, unknown> {
  const { userData } = inputs as { userData?: { value: string } };
  return userData === undefined ? inputs : { ...inputs, userData: secretOf(unpackText(userData.value)) };
}

/** The inputs without those that only stand for what the provider will say. */
export function settled(inputs: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined));
}

/** An output's value, once it is known. */
export function resolved<T>(of: Output<T>): Promise<T> {
  return new Promise((resolve) => {
    of.apply(resolve as (value: unknown) => void);
  });
}
