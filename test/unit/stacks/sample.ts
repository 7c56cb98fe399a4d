/** Config to start from; tests change what they are about. */
export const context = { project: "egress-proxies", stack: "dev" };

type Json = Record<string, unknown>;

export function host(name: string, more: Json = {}): Json {
  return { name, address: `${name}.example.org`, ...more };
}

export function entry(hosts: Json[], more: Json = {}): Json {
  return {
    type: "kvm",
    hosts,
    images: { "debian-12": { url: "images/debian-12.qcow2", sha256: "images/SHA256SUMS" } },
    ...more,
  };
}

export function pool(more: Json = {}): Json {
  return {
    provider: "lab",
    placement: { image: "debian-12" },
    cloudInit: { squid: { allowedClients: ["192.0.2.0/24"] } },
    ...more,
  };
}

export function sample(pools: Json = { crawl: pool({ size: 2 }) }, hosts: Json[] = [host("lab1")]) {
  return { providers: { lab: entry(hosts) }, pools };
}
