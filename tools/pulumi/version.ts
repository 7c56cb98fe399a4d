import { version } from "@pulumi/pulumi/version";

/** CLI and SDK must be of one version: the engine and the dynamic providers speak the SDK's protocol. */
export const PULUMI_VERSION = version;

/** The version in the output of `pulumi version`: `v3.248.0` is `3.248.0`; undefined if there is none. */
export function parseVersion(output: string): string | undefined {
  return /^v?(\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1];
}

/** The official download for this machine; undefined where there is none. */
export function downloadUrl(wanted: string, platform: string, arch: string): string | undefined {
  if (platform !== "linux" || (arch !== "x64" && arch !== "arm64")) return undefined;
  return `https://get.pulumi.com/releases/sdk/pulumi-v${wanted}-linux-${arch}.tar.gz`;
}
