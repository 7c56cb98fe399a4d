/**
 * libvirt's flags and states, by the names of its C headers without the prefix
 * (libvirt-domain.h, libvirt-storage.h, libvirt-network.h).
 */

/** virDomainState. */
export const DomainState = {
  NOSTATE: 0,
  RUNNING: 1,
  BLOCKED: 2,
  PAUSED: 3,
  SHUTDOWN: 4,
  SHUTOFF: 5,
  CRASHED: 6,
  PMSUSPENDED: 7,
} as const;

/** virConnectListAllDomainsFlags. 0 lists all. */
export const ListDomains = { ACTIVE: 1, INACTIVE: 2, PERSISTENT: 4, TRANSIENT: 8 } as const;

/** virDomainStatsTypes: the mask of connectGetAllDomainStats. */
export const DomainStatsType = {
  STATE: 1,
  CPU_TOTAL: 2,
  BALLOON: 4,
  VCPU: 8,
  INTERFACE: 16,
  BLOCK: 32,
} as const;

/** virConnectGetAllDomainStatsFlags. NOWAIT gives what is known rather than wait for a busy domain. */
export const GetAllDomainStats = { ACTIVE: 1, INACTIVE: 2, NOWAIT: 1 << 29, BACKING: 1 << 30 } as const;

/** virDomainXMLFlags. */
export const DomainXml = { SECURE: 1, INACTIVE: 2 } as const;

/** virDomainModificationImpact. */
export const DomainAffect = { CURRENT: 0, LIVE: 1, CONFIG: 2 } as const;

/** virDomainMetadataType. */
export const DomainMetadata = { DESCRIPTION: 0, TITLE: 1, ELEMENT: 2 } as const;

/** virDomainDestroyFlagsValues. */
export const DomainDestroy = { DEFAULT: 0, GRACEFUL: 1 } as const;

/** virDomainCreateFlags. */
export const DomainCreate = { PAUSED: 1, AUTODESTROY: 2, FORCE_BOOT: 8 } as const;

/**
 * virDomainUndefineFlagsValues. An old daemon refuses what it does not know:
 * NVRAM needs 1.2.9, KEEP_NVRAM 2.3.0, CHECKPOINTS_METADATA 5.6.0, TPM 8.9.0.
 */
export const DomainUndefine = {
  MANAGED_SAVE: 1,
  SNAPSHOTS_METADATA: 2,
  NVRAM: 4,
  KEEP_NVRAM: 8,
  CHECKPOINTS_METADATA: 16,
  TPM: 32,
  KEEP_TPM: 64,
} as const;

/** virDomainInterfaceAddressesSource. */
export const DomainInterfaceSource = { LEASE: 0, AGENT: 1, ARP: 2 } as const;

/** virIPAddrType. */
export const IpAddrType = { IPV4: 0, IPV6: 1 } as const;

/** virStoragePoolState. */
export const StoragePoolState = {
  INACTIVE: 0,
  BUILDING: 1,
  RUNNING: 2,
  DEGRADED: 3,
  INACCESSIBLE: 4,
} as const;

/** virStorageVolType. */
export const StorageVolType = { FILE: 0, BLOCK: 1, DIR: 2, NETWORK: 3, NETDIR: 4, PLOOP: 5 } as const;

/** virStorageVolInfoFlags. GET_PHYSICAL puts the file's length into `allocation`. */
export const StorageVolGetInfo = { USE_ALLOCATION: 0, GET_PHYSICAL: 1 } as const;

/** virStorageVolDeleteFlags. */
export const StorageVolDelete = { NORMAL: 0, ZEROED: 1, WITH_SNAPSHOTS: 2 } as const;

/** virConnectListAllStoragePoolsFlags. 0 lists all. */
export const ListStoragePools = { INACTIVE: 1, ACTIVE: 2 } as const;

/** virDomainQemuAgentCommandTimeoutValues, beside seconds. */
export const AgentTimeout = { BLOCK: -2, DEFAULT: -1, NOWAIT: 0 } as const;
