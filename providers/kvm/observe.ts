import { type Domain, DomainMetadata, ErrorCode, type LibvirtClient } from "../libvirt";
import { PermanentError } from "../machine/errors";
import { type Owner, type OwnerRecord, sameOwner } from "../machine/owner";
import { unlessCode } from "./faults";
import { METADATA_URI, parseOwnerRecord } from "./metadata";

export interface OwnDomain {
  domain: Domain;
  record: OwnerRecord;
}

/** The domain that carries our name, if it is ours. Undefined: there is none. Another's throws. */
export async function findByName(
  client: LibvirtClient,
  hostName: string,
  owner: Owner,
): Promise<OwnDomain | undefined> {
  const domain = await unlessCode(client.domainLookupByName(owner.name), ErrorCode.NO_DOMAIN);
  return domain && own(client, hostName, owner, domain);
}

/** The domain that carries our UUID, whatever its name is by now. */
export async function findByUuid(
  client: LibvirtClient,
  hostName: string,
  owner: Owner,
  uuid: string,
): Promise<OwnDomain | undefined> {
  const domain = await unlessCode(client.domainLookupByUUID(uuid), ErrorCode.NO_DOMAIN);
  return domain && own(client, hostName, owner, domain);
}

async function own(
  client: LibvirtClient,
  hostName: string,
  owner: Owner,
  domain: Domain,
): Promise<OwnDomain | undefined> {
  let xml: string | undefined;
  try {
    xml = await unlessCode(
      client.domainGetMetadata(domain, DomainMetadata.ELEMENT, METADATA_URI),
      ErrorCode.NO_DOMAIN_METADATA,
    );
  } catch (error) {
    // It went away between the two calls.
    if ((await unlessCode(client.domainLookupByUUID(domain.uuid), ErrorCode.NO_DOMAIN)) === undefined)
      return undefined;
    throw error;
  }
  const record = xml === undefined ? undefined : parseOwnerRecord(xml);
  if (record !== undefined && sameOwner(record, owner)) return { domain, record };
  throw foreign(hostName, domain, record);
}

function foreign(hostName: string, domain: Domain, record: OwnerRecord | undefined): PermanentError {
  const whose =
    record === undefined
      ? "was not made by this program"
      : `belongs to stack "${record.stack}" of project "${record.project}"`;
  return new PermanentError({
    reason: "ForeignMachine",
    where: `host ${hostName}`,
    message: `the machine "${domain.name}" (${domain.uuid}) ${whose}; it is left untouched`,
    remedy: "Rename the pool or member, or rename or remove that machine by hand",
  });
}
