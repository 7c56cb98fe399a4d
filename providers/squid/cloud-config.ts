import { SHELL_FUNCTIONS } from "../seed/install-script";
import type { SquidOptions } from "./options";
import { renderSquidConf } from "./squid-conf";

/**
 * Gets squid running on the configuration that write_files has left. Where the image holds squid this changes
 * nothing: cloud-init writes the file before squid's first start. Where squid started before the file was written,
 * it reads it again, which is far cheaper than a restart with its `shutdown_lifetime`.
 */
const START_SQUID = `
{ has squid || install_package squid; } &&
  start_service squid &&
  if [ /etc/squid/squid.conf -nt /run/squid.pid ]; then squid -k reconfigure; fi
`;

/**
 * cloud-init user-data that makes any common Linux image an egress proxy. It sets squid's configuration, installs
 * squid only where it is missing, and names the host in /etc/hosts, so that squid never waits for a DNS answer
 * about itself.
 *
 * @throws PermanentError `SquidOptionsInvalid`
 */
export function renderProxyCloudConfig(options: SquidOptions): string {
  return `#cloud-config
manage_etc_hosts: localhost
write_files:
  - path: /etc/squid/squid.conf
    permissions: "0644"
    content: |
${indented(renderSquidConf(options), 6)}
runcmd:
  - |
    # Fails the boot's final stage, visibly in cloud-init status, when squid cannot be got to run.
${indented(SHELL_FUNCTIONS + START_SQUID, 4)}
`;
}

/** A text as the lines of a YAML literal block, without its final line break. */
function indented(text: string, spaces: number): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? "" : " ".repeat(spaces) + line))
    .join("\n");
}
