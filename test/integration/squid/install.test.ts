import assert from "node:assert/strict";
import { renderProxyCloudConfig } from "@egress-proxies/providers/squid/cloud-config";
import { parse } from "yaml";
import { FakeGuest, installs, OPENRC, SYSTEMD } from "../seed/fake-guest";

describe("the cloud-config's commands in a guest", () => {
  let guest: FakeGuest;
  let script: string;

  beforeEach(() => {
    guest = new FakeGuest();
    const options = { port: 3128, visibleHostname: "dev-crawl-1", allowedClients: ["10.77.0.0/16"] };
    // cloud-init joins the items of runcmd to one script.
    script = (parse(renderProxyCloudConfig(options)) as { runcmd: string[] }).runcmd.join("\n");
  });
  afterEach(() => guest.remove());

  it("touch nothing where the image runs squid already", () => {
    guest.give({ squid: "", systemctl: "", "apt-get": "exit 1" });
    const { status, calls } = guest.run(script);
    assert.equal(status, 0);
    assert.deepEqual(calls, ["systemctl is-enabled --quiet squid", "systemctl is-active --quiet squid"]);
  });

  it("install squid where it is missing, and keep the configuration that stands there", () => {
    guest.give({ ...SYSTEMD, "apt-get": installs("squid") });
    const { status, calls } = guest.run(script);
    assert.equal(status, 0);
    assert.match(calls[0] ?? "", /^apt-get .*--force-confold.* install .*squid$/);
    assert.equal(calls.at(-1), "systemctl enable --now squid");
  });

  it("install squid on Alpine too", () => {
    guest.give({ ...OPENRC, apk: installs("squid") });
    const { calls } = guest.run(script);
    assert.deepEqual(calls, [
      "apk add --update-cache squid",
      "rc-update add squid default",
      "rc-service squid start",
    ]);
  });

  it("fail where squid cannot be installed or started, so that cloud-init reports it", () => {
    guest.give({ ...SYSTEMD, "apt-get": "exit 100" });
    assert.notEqual(guest.run(script).status, 0);
    guest.give({ squid: "", systemctl: "exit 1" });
    assert.notEqual(guest.run(script).status, 0);
  });
});
