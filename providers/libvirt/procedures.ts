import {
  array,
  type Codec,
  hyper,
  int,
  optional,
  type StructOf,
  string,
  struct,
  truth,
  uhyper,
  uint,
  uuid,
} from "./codec";
import { typedParams } from "./typed-param";

/** Program numbers; all have version 1. */
export const Program = { REMOTE: 0x20008086, QEMU: 0x20008087, KEEPALIVE: 0x6b656570 } as const;

/** One remote procedure: its number, and how its arguments and its result stand on the wire. */
export interface Procedure<Args, Result> {
  program: number;
  number: number;
  /** The C function's name. */
  rpc: string;
  args: Codec<Args>;
  result: Codec<Result>;
}

function remote<A extends object, R extends object>(
  number: number,
  rpc: string,
  args: A,
  result: R,
): Procedure<StructOf<A>, StructOf<R>> {
  return { program: Program.REMOTE, number, rpc, args: struct(args), result: struct(result) };
}

const nothing = {};
const optionalString = optional(string);

export const domain = struct({ name: string, uuid, id: int });
export const pool = struct({ name: string, uuid });
export const volume = struct({ pool: string, name: string, key: string });
export const network = struct({ name: string, uuid });

/** remote_error: what stands in a REPLY or a STREAM packet whose status is ERROR. */
export const remoteError = struct({
  code: int,
  domain: int,
  message: optionalString,
  level: int,
  dom: optional(domain),
  str1: optionalString,
  str2: optionalString,
  str3: optionalString,
  int1: int,
  int2: int,
  net: optional(network),
});

const lease = struct({
  iface: string,
  expiry: hyper,
  type: int,
  mac: optionalString,
  iaid: optionalString,
  ipaddr: string,
  prefix: uint,
  hostname: optionalString,
  clientid: optionalString,
});

const domainInterface = struct({
  name: string,
  hwaddr: optionalString,
  addrs: array(struct({ type: int, addr: string, prefix: uint }), 2048),
});

const statsRecord = struct({ dom: domain, params: typedParams });

const volumeInfo = { type: int, capacity: uhyper, allocation: uhyper };

/** Numbers and shapes are those of remote_protocol.x and qemu_protocol.x in libvirt's sources. */
export const procedures = {
  connectOpen: remote(1, "virConnectOpen", { name: optionalString, flags: uint }, nothing),
  connectClose: remote(2, "virConnectClose", nothing, nothing),
  authList: remote(66, "virConnectAuthList", nothing, { types: array(int, 20) }),
  authPolkit: remote(70, "virConnectAuthPolkit", nothing, { complete: int }),
  connectGetLibVersion: remote(157, "virConnectGetLibVersion", nothing, { version: uhyper }),
  connectGetHostname: remote(59, "virConnectGetHostname", nothing, { hostname: string }),
  connectGetCapabilities: remote(7, "virConnectGetCapabilities", nothing, { xml: string }),
  connectGetDomainCapabilities: remote(
    342,
    "virConnectGetDomainCapabilities",
    {
      emulator: optionalString,
      arch: optionalString,
      machine: optionalString,
      virtType: optionalString,
      flags: uint,
    },
    { xml: string },
  ),
  connectListAllDomains: remote(
    273,
    "virConnectListAllDomains",
    { needResults: truth, flags: uint },
    { domains: array(domain, 16_384), count: uint },
  ),
  connectGetAllDomainStats: remote(
    344,
    "virConnectGetAllDomainStats",
    { domains: array(domain, 16_384), stats: uint, flags: uint },
    { records: array(statsRecord, 4096) },
  ),
  connectListAllStoragePools: remote(
    281,
    "virConnectListAllStoragePools",
    { needResults: truth, flags: uint },
    { pools: array(pool, 4096), count: uint },
  ),

  domainLookupByName: remote(23, "virDomainLookupByName", { name: string }, { domain }),
  domainLookupByUUID: remote(24, "virDomainLookupByUUID", { uuid }, { domain }),
  domainDefineXML: remote(11, "virDomainDefineXML", { xml: string }, { domain }),
  domainCreateWithFlags: remote(196, "virDomainCreateWithFlags", { domain, flags: uint }, { domain }),
  domainDestroyFlags: remote(234, "virDomainDestroyFlags", { domain, flags: uint }, nothing),
  domainShutdown: remote(33, "virDomainShutdown", { domain }, nothing),
  domainResume: remote(28, "virDomainResume", { domain }, nothing),
  domainUndefineFlags: remote(231, "virDomainUndefineFlags", { domain, flags: uint }, nothing),
  domainGetXMLDesc: remote(14, "virDomainGetXMLDesc", { domain, flags: uint }, { xml: string }),
  domainGetState: remote(212, "virDomainGetState", { domain, flags: uint }, { state: int, reason: int }),
  domainGetMetadata: remote(
    265,
    "virDomainGetMetadata",
    { domain, type: int, uri: optionalString, flags: uint },
    { metadata: string },
  ),
  domainSetMetadata: remote(
    264,
    "virDomainSetMetadata",
    { domain, type: int, metadata: optionalString, key: optionalString, uri: optionalString, flags: uint },
    nothing,
  ),
  domainInterfaceAddresses: remote(
    353,
    "virDomainInterfaceAddresses",
    { domain, source: uint, flags: uint },
    { interfaces: array(domainInterface, 2048) },
  ),
  domainSetAutostart: remote(29, "virDomainSetAutostart", { domain, autostart: truth }, nothing),

  storagePoolLookupByName: remote(84, "virStoragePoolLookupByName", { name: string }, { pool }),
  storagePoolGetXMLDesc: remote(88, "virStoragePoolGetXMLDesc", { pool, flags: uint }, { xml: string }),
  storagePoolIsActive: remote(154, "virStoragePoolIsActive", { pool }, { active: truth }),
  storagePoolGetInfo: remote(
    87,
    "virStoragePoolGetInfo",
    { pool },
    { state: uint, capacity: uhyper, allocation: uhyper, available: uhyper },
  ),
  storagePoolListAllVolumes: remote(
    282,
    "virStoragePoolListAllVolumes",
    { pool, needResults: truth, flags: uint },
    { volumes: array(volume, 16_384), count: uint },
  ),
  storagePoolRefresh: remote(83, "virStoragePoolRefresh", { pool, flags: uint }, nothing),

  storageVolCreateXML: remote(93, "virStorageVolCreateXML", { pool, xml: string, flags: uint }, { volume }),
  storageVolDelete: remote(94, "virStorageVolDelete", { volume, flags: uint }, nothing),
  storageVolLookupByName: remote(95, "virStorageVolLookupByName", { pool, name: string }, { volume }),
  storageVolGetInfo: remote(98, "virStorageVolGetInfo", { volume }, volumeInfo),
  storageVolGetInfoFlags: remote(378, "virStorageVolGetInfoFlags", { volume, flags: uint }, volumeInfo),
  storageVolGetXMLDesc: remote(99, "virStorageVolGetXMLDesc", { volume, flags: uint }, { xml: string }),
  storageVolGetPath: remote(100, "virStorageVolGetPath", { volume }, { path: string }),
  storageVolUpload: remote(
    208,
    "virStorageVolUpload",
    { volume, offset: uhyper, length: uhyper, flags: uint },
    nothing,
  ),
  storageVolDownload: remote(
    209,
    "virStorageVolDownload",
    { volume, offset: uhyper, length: uhyper, flags: uint },
    nothing,
  ),

  networkLookupByName: remote(46, "virNetworkLookupByName", { name: string }, { network }),
  networkIsActive: remote(152, "virNetworkIsActive", { network }, { active: truth }),
  networkGetDhcpLeases: remote(
    341,
    "virNetworkGetDHCPLeases",
    { network, mac: optionalString, needResults: truth, flags: uint },
    { leases: array(lease, 65_536), count: uint },
  ),

  qemuDomainAgentCommand: {
    ...remote(
      3,
      "virDomainQemuAgentCommand",
      { domain, command: string, timeout: int, flags: uint },
      { result: optionalString },
    ),
    program: Program.QEMU,
  },
} as const;
