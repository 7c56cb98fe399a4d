import { z } from "zod";
import { path } from "./fields";
import { named, option } from "./option";

/** User-data texts that several proxies share, out of which `secretRef` picks one. */
export const cloudInitTexts = option(
  named(
    "name",
    option(z.string(), "A user-data, in any format of cloud-init, byte for byte.", {
      replaces: true,
      secret: true,
    }),
  ),
  "User-data texts by name, for every `cloudInit.secretRef`: `pulumi config set --secret --path egress:cloudInit.NAME`.",
);

const squid = z.strictObject({
  allowedClients: option(
    z.array(z.string()).min(1),
    "The CIDRs that may use the proxy; everyone else is refused. Keep it to the crawler's own networks.",
    { replaces: true },
  ),
  allowedDestinations: option(
    z.array(z.string()),
    "Private destinations that are allowed all the same: an address or CIDR, optionally with `:PORT`. " +
      "Without it every private, loopback and link-local destination is refused.",
    { replaces: true },
  ).default([]),
});

/** The ways to say what runs in the guest; exactly one is chosen. */
export const CLOUD_INIT_SOURCES = ["inline", "secretRef", "file", "squid"] as const;

export const cloudInit = z
  .strictObject({
    inline: option(z.string(), "The user-data itself, in any format of cloud-init, byte for byte.", {
      replaces: true,
      secret: true,
    }).exactOptional(),
    secretRef: option(
      z.string(),
      "The name of a user-data in `egress:cloudInit`, which any number of pools and members may share.",
      { replaces: true },
    ).exactOptional(),
    file: option(
      path,
      "The path of a file with the user-data (UTF-8); relative ones start at the project's root.",
      { replaces: true },
    ).exactOptional(),
    squid: option(squid, "A squid that is set up by this project, listening on the proxy's `port`.", {
      replaces: true,
    }).exactOptional(),
    vendorData: option(z.string(), "Your own vendor-data; the guest agent's installation is joined to it.", {
      replaces: true,
      secret: true,
    }).exactOptional(),
    networkConfig: option(z.string(), "cloud-init network-config, version 1 or 2. Without it: DHCP.", {
      replaces: true,
      secret: true,
    }).exactOptional(),
    installGuestAgent: option(
      z.boolean(),
      "Install qemu-guest-agent on first boot where it is missing. The address of a machine is known sooner " +
        "and more surely with it.",
      { replaces: true },
    ).default(true),
  })
  .meta({ oneOf: CLOUD_INIT_SOURCES.map((source) => ({ required: [source] })) });

export type CloudInit = z.output<typeof cloudInit>;
