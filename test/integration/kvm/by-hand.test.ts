import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { refreshPool } from "@egress-proxies/providers/images/volumes";
import { overlayName, seedName } from "@egress-proxies/providers/kvm/names";
import { DomainState, type LibvirtClient } from "@egress-proxies/providers/libvirt/index";
import { EgressError } from "@egress-proxies/providers/machine/errors";
import { machineUuid } from "@egress-proxies/providers/machine/owner";
import { systemClock } from "@egress-proxies/providers/machine/retry";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import { Harness } from "./harness";

/** What administrators do to a host with virsh while this program looks away. */
describe("machines that somebody changed by hand", function () {
  this.timeout(60_000);
  let harness: Harness;
  let client: LibvirtClient;
  let inputs: KvmMachineInputs;
  let name: string;
  const pools: string[] = [];

  beforeEach(async () => {
    harness = Harness.checked();
    client = await harness.dial();
    inputs = harness.inputs("1");
    name = inputs.owner.name;
  });
  afterEach(async () => {
    for (const pool of pools.splice(0)) virsh("pool-destroy", pool);
    await refresh(); // else nobody knows of a snapshot's file, and it would stay
    await client.close();
    await harness.dispose();
  });

  const virsh = (...args: string[]): string =>
    execFileSync(
      "virsh",
      ["-q", "-c", `qemu+unix:///system?socket=${process.env.EGRESS_TEST_LIBVIRT_SOCKET}`, ...args],
      { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
    );
  const refresh = async () =>
    refreshPool(client, await client.storagePoolLookupByName("default"), systemClock);
  const create = () => harness.backend.create(inputs, harness.run);
  const isRunning = async () =>
    assert.equal(
      (await client.domainGetState(await client.domainLookupByUUID(machineUuid(inputs.owner)))).state,
      DomainState.RUNNING,
    );
  const reason = (wanted: string, message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof EgressError, String(error));
    assert.equal(error.reason, wanted, error.message);
    assert.match(error.message, message);
    return true;
  };
  /** A second pool over the folder of `default`: what is done through it, `default` does not notice. */
  const shadow = (): string => {
    const pool = `${harness.prefix}-shadow`;
    virsh("pool-create-as", pool, "dir", "--target", "/var/lib/libvirt/boot/../images");
    pools.push(pool);
    return pool;
  };

  it("does not touch its renamed machine, and says how to go on", async () => {
    const { id, outputs } = await create();
    virsh("destroy", name);
    virsh("domrename", name, `${harness.prefix}-other`);
    await assert.rejects(
      harness.backend.update(id, outputs, inputs, harness.run),
      reason("MachineRenamed", new RegExp(`virsh domrename ${harness.prefix}-other ${name}`)),
    );
    assert.deepEqual(await harness.left(), {
      domains: [`${harness.prefix}-other`],
      volumes: [seedName(inputs.owner), overlayName(inputs.owner)].sort(),
    });
    await harness.backend.delete(id, outputs, harness.run);
    assert.deepEqual(await harness.left(), { domains: [], volumes: [] });
  });

  it("does not touch somebody's machine that carries its UUID", async () => {
    const foreign = await client.domainDefineXML(
      `<domain type="qemu"><name>${harness.prefix}-foreign</name><uuid>${machineUuid(inputs.owner)}</uuid>` +
        `<memory unit="MiB">32</memory><os><type arch="x86_64" machine="q35">hvm</type></os></domain>`,
    );
    const before = await client.domainGetXMLDesc(foreign);
    await assert.rejects(create(), reason("ForeignMachine", /foreign.*was not made by this program/));
    assert.equal(await client.domainGetXMLDesc(foreign), before);
    assert.deepEqual((await harness.left()).volumes, []);
  });

  for (const [what, volume] of [
    ["overlay", overlayName],
    ["seed", seedName],
  ] as const) {
    it(`starts a machine whose ${what} was deleted behind libvirt's back`, async () => {
      const { id, outputs } = await create();
      virsh("destroy", name);
      virsh("vol-delete", volume(inputs.owner), "--pool", shadow());
      await harness.backend.update(id, outputs, inputs, harness.run);
      await isRunning();
    });

    it(`makes a machine where a file of its ${what}'s name lies that libvirt does not know`, async () => {
      virsh("vol-create-as", shadow(), volume(inputs.owner), "1M", "--format", "raw");
      await create();
      await isRunning();
    });
  }

  it("restores a machine that was saved to disk", async () => {
    const { id, outputs } = await create();
    virsh("managedsave", name);
    await harness.backend.update(id, outputs, inputs, harness.run);
    await isRunning();
  });

  it("says that the pool was stopped meanwhile, on create, update and delete", async () => {
    const pool = `${harness.prefix}-pool`;
    virsh("pool-define-as", pool, "dir", "--target", "/var/lib/libvirt/boot");
    virsh("pool-start", pool);
    inputs = harness.inputs("1", { host: harness.host({ pool }) });
    const { id, outputs } = await create();
    virsh("destroy", name);
    virsh("pool-destroy", pool);
    try {
      const inactive = reason("PoolInactive", new RegExp(`virsh pool-start ${pool}`));
      // The same session still holds what it knew of the pool.
      await assert.rejects(harness.backend.update(id, outputs, inputs, harness.run), inactive);
      await assert.rejects(harness.backend.delete(id, outputs, harness.run), inactive);
      virsh("pool-start", pool);
      await harness.backend.delete(id, outputs, harness.run);
      assert.deepEqual((await harness.left()).domains, []);
      assert.doesNotMatch(virsh("vol-list", pool), new RegExp(name));
    } finally {
      const active = virsh("pool-list", "--name")
        .split("\n")
        .some((line) => line.trim() === pool);
      if (!active) virsh("pool-start", pool);
      for (const [, volume] of virsh("vol-list", pool).matchAll(/^ *(\S+)/gm)) {
        if (volume?.includes(harness.prefix)) virsh("vol-delete", volume, "--pool", pool);
      }
      virsh("pool-destroy", pool);
      virsh("pool-undefine", pool);
    }
  });

  it("says where the old machine may be when a host's address leads to another host", async () => {
    const { id, outputs } = await create();
    await harness.backend.delete(id, outputs, harness.run);
    const moved = harness.inputs("1", { host: harness.host({ address: "elsewhere" }) });
    await harness.backend.update(id, outputs, moved, harness.run);
    assert.match(harness.said.join("\n"), /was reached at lab, now at elsewhere.*old machine still runs/);
    harness.said.length = 0;
    await harness.backend.update(id, outputs, moved, harness.run);
    assert.doesNotMatch(
      harness.said.join("\n"),
      /was reached at/,
      "the machine is there: only the way to it changed",
    );
  });

  it("takes its machine's snapshots away with it", async () => {
    const { id, outputs } = await create();
    virsh("snapshot-create-as", name, "first", "--disk-only");
    virsh("snapshot-create-as", name, "second", "--disk-only");
    await harness.backend.delete(id, outputs, harness.run);
    await refresh();
    assert.deepEqual(await harness.left(), { domains: [], volumes: [] });
  });

  it("leaves disks alone that somebody attached", async () => {
    const { id, outputs } = await create();
    const extra = `${harness.prefix}-extra.qcow2`;
    virsh("vol-create-as", "default", extra, "1M", "--format", "qcow2");
    virsh("attach-disk", name, virsh("vol-path", extra, "--pool", "default").trim(), "vdc", "--persistent");
    virsh("snapshot-create-as", name, "internal", "--disk-only", "--diskspec", "vdc,snapshot=external");
    virsh("autostart", name);
    await harness.backend.delete(id, outputs, harness.run);
    const left = await harness.left();
    assert.deepEqual(left.domains, []);
    assert.ok(left.volumes.includes(extra), left.volumes.join(" "));
    assert.ok(!left.volumes.includes(overlayName(inputs.owner)), left.volumes.join(" "));
  });
});
