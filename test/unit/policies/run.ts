import type {
  PolicyResource,
  ResourceValidationArgs,
  ResourceValidationPolicy,
  StackValidationPolicy,
} from "@pulumi/policy";

export const MACHINE = "pulumi-nodejs:dynamic/egress:KvmMachine";
export const MACHINE2 = "pulumi-nodejs:dynamic/egress:Kvm2Machine";
export const CHECK = "pulumi-nodejs:dynamic/egress:ProxyCheck";
export const POOL = "egress:index:ProxyPool";
export const PROXY = "egress:index:Proxy";

/** A machine's inputs that no rule minds. */
export function machine(change: object = {}) {
  return {
    owner: { project: "egress-proxies", stack: "dev", name: "dev-crawl-1" },
    entry: "lab",
    host: { name: "lab1", address: "lab1.example.org", pool: "default", network: "default" },
    image: { key: "debian-12", url: "https://images.example.org/debian-12.qcow2", sha256: "a".repeat(64) },
    userData: "#cloud-config\n",
    ...change,
  };
}

/** A check's inputs that no rule minds. */
export function check(change: object = {}) {
  return {
    name: "dev-crawl-1",
    port: 3128,
    target: { url: "http://target.example/", expectedStatus: 204 },
    allowedClients: ["192.0.2.0/24"],
    ...change,
  };
}

function args(type: string, name: string, props: object, config: object): ResourceValidationArgs {
  const never = (): never => {
    throw new Error("not part of these tests");
  };
  return {
    type,
    name,
    props,
    urn: `urn:${name}`,
    opts: {
      protect: false,
      ignoreChanges: [],
      aliases: [],
      customTimeouts: { createSeconds: 0, updateSeconds: 0, deleteSeconds: 0 },
      additionalSecretOutputs: [],
    },
    stackTags: new Map(),
    isType: never,
    asType: never,
    getConfig: <T extends object>() => config as T,
    notApplicable: never,
  };
}

/** The messages of a rule about one resource. */
export async function violations(
  policy: ResourceValidationPolicy,
  type: string,
  props: object,
  { name = "crawl-1", config = {} }: { name?: string; config?: object } = {},
): Promise<string[]> {
  const messages: string[] = [];
  for (const validate of [policy.validateResource ?? []].flat())
    await validate(args(type, name, props, config), (message) => messages.push(message));
  return messages;
}

export function remediated(policy: ResourceValidationPolicy, type: string, props: object) {
  return policy.remediateResource?.(args(type, "crawl-1", props, {}));
}

/** A pool's component with its proxies, as a pack sees them at the end; proxies have a machine unless external. */
export function pool(name: string, size: number, external = false): PolicyResource[] {
  const resource = (type: string, own: string, parent?: PolicyResource): PolicyResource => {
    const { props, urn, opts } = args(type, own, {}, {});
    const rest = { dependencies: [], propertyDependencies: {}, isType: () => false, asType: () => undefined };
    return { type, name: own, props, urn, opts, ...rest, ...(parent === undefined ? {} : { parent }) };
  };
  const component = resource(POOL, name);
  const members = Array.from({ length: size }, (_, index) => {
    const proxy = resource(PROXY, `${name}-${index + 1}`, component);
    return external ? [proxy] : [proxy, resource(MACHINE, `${proxy.name}-machine`, proxy)];
  });
  return [component, ...members.flat()];
}

/** The messages of a rule about a whole stack, each with the URN it is about. */
export async function stackViolations(
  policy: StackValidationPolicy,
  resources: PolicyResource[],
  config: object = {},
): Promise<[string, string | undefined][]> {
  const messages: [string, string | undefined][] = [];
  const { getConfig, notApplicable, stackTags } = args("", "", {}, config);
  await policy.validateStack({ resources, getConfig, notApplicable, stackTags }, (message, urn) =>
    messages.push([message, urn]),
  );
  return messages;
}
