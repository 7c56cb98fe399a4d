import { physicalName } from "@egress-proxies/providers/machine/owner";
import { formatRange, parseCidr } from "@egress-proxies/providers/squid/address-range";
import type { ExternalPool, ManagedPool, PoolConfig } from "../config/pool";
import type { Config } from "../config/schema";
import { kvmMachine } from "./kvm";
import { type Member, membersOf } from "./members";
import { ordered } from "./order";
import { type Placements, place } from "./placement";
import type { ExternalProxy, ManagedProxy, PlannedPool, PlannedProxy } from "./planned";
import { unavailableAtOnce } from "./rolling";
import { type UserDataFiles, userDataOf } from "./user-data";

export interface PlanContext {
  project: string;
  stack: string;
  /** Where machines were after the last deployment; empty for a new stack. */
  previous: Placements;
  /** The contents of every `cloudInit.file`, by the path in the config. */
  files: UserDataFiles;
}

/** What has to exist, in a fixed order. Pure; the config must have passed `parseConfig`. */
export function plan(config: Config, context: PlanContext): PlannedPool[] {
  const pools = ordered(config.pools).map(([name, pool]) =>
    pool.mode === "External" ? { name, pool } : { name, pool, members: membersOf(name, pool) },
  );
  const nameOf = (pool: string, member: Member) => physicalName(context.stack, pool, member.name);
  const placements = Object.entries(config.providers).map(([entryName, { hosts }]) => {
    const demands = pools.flatMap(({ name, pool, members = [] }) =>
      pool.mode === "External" || pool.provider !== entryName
        ? []
        : members.map((member) => ({
            name: nameOf(name, member),
            pool: name,
            ...(member.placement.host === undefined ? {} : { host: member.placement.host }),
            ...(member.placement.zone === undefined ? {} : { zone: member.placement.zone }),
          })),
    );
    return place(hosts, demands, context.previous);
  });
  const hosts: Placements = Object.assign({}, ...placements);

  return pools.map(({ name, pool, members = [] }) => ({
    name,
    maxUnavailable: pool.mode === "External" ? 0 : unavailableAtOnce(pool.maxUnavailable, members.length),
    proxies:
      pool.mode === "External"
        ? externalProxies(name, pool, context.stack)
        : members.map((member) =>
            managedProxy(config, context, { name, pool, member, host: hosts[nameOf(name, member)]! }),
          ),
  }));
}

function managedProxy(
  config: Config,
  { project, stack, files }: PlanContext,
  chosen: { name: string; pool: ManagedPool; member: Member; host: string },
): ManagedProxy {
  const { pool, member, host } = chosen;
  const { port, maxLeases, labels, cloudInit, placement } = member;
  const name = physicalName(stack, chosen.name, member.name);
  const machine = kvmMachine(
    config.providers[pool.provider]!,
    { ...placement, host },
    {
      owner: { project, stack, name },
      entry: pool.provider,
      userData: userDataOf(cloudInit, { port, visibleHostname: name }, { files, texts: config.cloudInit }),
      ...(cloudInit.vendorData === undefined ? {} : { vendorData: cloudInit.vendorData }),
      ...(cloudInit.networkConfig === undefined ? {} : { networkConfig: cloudInit.networkConfig }),
      installGuestAgent: cloudInit.installGuestAgent,
      wait: pool.wait === "ready" ? "address" : "started",
      bootTimeoutSeconds: pool.bootTimeoutSeconds,
    },
  );
  return {
    mode: "Managed",
    name,
    pool: chosen.name,
    member: member.name,
    provider: pool.provider,
    host,
    port,
    maxLeases,
    labels,
    machine,
    check: plannedCheck(pool, { name, port }, (cloudInit.squid?.allowedClients ?? []).map(asCidr)),
  };
}

function externalProxies(poolName: string, pool: ExternalPool, stack: string): ExternalProxy[] {
  return ordered(pool.members).map(([member, { endpoint, maxLeases = pool.maxLeases, labels }]) => {
    const name = physicalName(stack, poolName, member);
    const { host: address, port } = endpoint;
    return {
      mode: "External",
      name,
      pool: poolName,
      member,
      provider: "",
      host: "",
      port,
      maxLeases,
      labels: { ...pool.labels, ...labels },
      address,
      check: plannedCheck(pool, { name, port }, []),
    };
  });
}

function plannedCheck(
  { healthCheck, wait }: PoolConfig,
  proxy: { name: string; port: number },
  allowedClients: string[],
): PlannedProxy["check"] {
  const { url, expectedStatus, ...timing } = healthCheck;
  return {
    ...proxy,
    target: { url, expectedStatus },
    allowedClients,
    wait: wait === "ready" ? "ready" : "none",
    ...timing,
  };
}

/** squid takes a lone address, the check wants a prefix length with it. */
function asCidr(client: string): string {
  const range = parseCidr(client);
  return "problem" in range ? client : formatRange(range);
}
