import assert from "node:assert/strict";
import { httpPortsOf } from "@egress-proxies/providers/squid/http-ports";

describe("httpPortsOf", () => {
  const cases: [what: string, userData: string, ports: number[]][] = [
    ["nothing", "#cloud-config\n", []],
    ["a block of YAML", "content: |\n  http_port 3128\n  via off\n", [3128]],
    ["several lines", "http_port 3128\nhttp_port 8080\nhttp_port 3128\n", [3128, 8080]],
    ["a quoted string", 'content: "# squid\\nhttp_port 3128\\nvia off\\n"', [3128]],
    ["a script", "#!/bin/sh\necho http_port 3129 >> /etc/squid/squid.conf\n", [3129]],
    [
      "an address before the port",
      "http_port 10.0.0.1:3128\nhttp_port [::1]:3129\nhttp_port proxy:3130",
      [3128, 3129, 3130],
    ],
    ["options after the port", "http_port 3128 name=crawl\r\n", [3128]],
    ["comments", "  # http_port 3128\nvia off # http_port 1\n#http_port 2\n", []],
    ["other directives", "https_port 3128\nmy_http_port 3128\nhttp_port_list 3128\n", []],
    ["no number", "http_port\nhttp_port {{ port }}\nhttp_port 99999\nhttp_port 0\n", []],
  ];
  for (const [what, userData, ports] of cases) {
    it(`finds ${ports.length === 0 ? "none" : ports.join(", ")} in ${what}`, () => {
      assert.deepEqual(httpPortsOf(userData), ports);
    });
  }
});
