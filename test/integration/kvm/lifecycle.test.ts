import assert from "node:assert/strict";
import { attemptName } from "@egress-proxies/providers/images/naming";
import { processToken } from "@egress-proxies/providers/images/process-token";
import { overlayName, seedName } from "@egress-proxies/providers/kvm/names";
import { renderUploadTarget } from "@egress-proxies/providers/kvm/volume-xml";
import { DomainState, type LibvirtClient, StorageVolGetInfo } from "@egress-proxies/providers/libvirt/index";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { machineUuid } from "@egress-proxies/providers/machine/owner";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import { InitFailedError } from "@egress-proxies/providers/pulumi/init-failed";
import { Harness, KINDS, type Kind, tinyImage } from "./harness";

for (const kind of Object.keys(KINDS) as Kind[])
  describe(`${kind} lifecycle on a real daemon`, function () {
    this.timeout(60_000);
    let harness: Harness;
    let client: LibvirtClient;
    beforeEach(async () => {
      harness = Harness.checked(kind);
      client = await harness.dial();
    });
    afterEach(async () => {
      await client.close();
      await harness.dispose();
    });

    const create = (inputs: KvmMachineInputs) => harness.backend.create(inputs, harness.run);
    const stateOf = async (inputs: KvmMachineInputs) =>
      (await client.domainGetState(await client.domainLookupByName(inputs.owner.name))).state;
    const reason = (wanted: string) => (error: unknown) => {
      assert.ok(error instanceof PermanentError, String(error));
      assert.equal(error.reason, wanted, error.message);
      return true;
    };

    it("makes a running machine, its overlay and its seed; delete takes exactly these away", async () => {
      const inputs = harness.inputs("1");
      const { id, outputs } = await create(inputs);
      assert.equal(id, machineUuid(inputs.owner));
      assert.equal(await stateOf(inputs), DomainState.RUNNING);
      assert.deepEqual(await harness.left(), {
        domains: [inputs.owner.name],
        volumes: [seedName(inputs.owner), overlayName(inputs.owner)].sort(),
      });
      await harness.backend.delete(id, outputs, harness.run);
      assert.deepEqual(await harness.left(), { domains: [], volumes: [] });
      await harness.backend.delete(id, outputs, harness.run);
    });

    it("adopts its own running machine without touching it", async () => {
      const inputs = harness.inputs("1");
      await create(inputs);
      const before = await client.domainLookupByName(inputs.owner.name);
      await create(inputs);
      assert.equal((await client.domainLookupByName(inputs.owner.name)).id, before.id);
    });

    it("starts its own stopped machine again, and resumes a paused one", async () => {
      const inputs = harness.inputs("1");
      const { id, outputs } = await create(inputs);
      await client.domainDestroyFlags(await client.domainLookupByName(inputs.owner.name));
      const updated = await harness.backend.update(id, outputs, inputs, harness.run);
      assert.equal(await stateOf(inputs), DomainState.RUNNING);
      assert.notEqual(updated.generation, outputs.generation, "dependents must look again");
    });

    it("rebuilds its own machine of another spec", async () => {
      const inputs = harness.inputs("1");
      await create(inputs);
      const before = await client.domainLookupByName(inputs.owner.name);
      await create({ ...inputs, memoryMiB: 96 });
      const after = await client.domainLookupByName(inputs.owner.name);
      assert.notEqual(after.id, before.id);
      assert.match(await client.domainGetXMLDesc(after), /98304/);
    });

    for (const [what, undefine, kept] of [
      ["makes the disk anew of a machine that somebody undefined", true, false],
      ["keeps the disk of a machine that was only stopped", false, true],
    ] as const) {
      it(what, async () => {
        const inputs = harness.inputs("1");
        await create(inputs);
        const domain = await client.domainLookupByName(inputs.owner.name);
        await client.domainDestroyFlags(domain);
        if (undefine) await client.domainUndefineFlags(domain, 0);
        // What a guest has written: the file has grown.
        const disk = { pool: "default", name: overlayName(inputs.owner), key: "" };
        await client.storageVolUpload(disk, chunk(Buffer.alloc(4096, 7)), { offset: 2n * 1024n ** 2n });
        await create(inputs);
        assert.equal(await stateOf(inputs), DomainState.RUNNING);
        const { allocation } = await client.storageVolGetInfoFlags(disk, StorageVolGetInfo.GET_PHYSICAL);
        assert.equal(allocation > 2n * 1024n ** 2n, kept, `${allocation} bytes`);
      });
    }

    it("never touches a machine of the same name without our record", async () => {
      const inputs = harness.inputs("1");
      const xml = `<domain type="qemu"><name>${inputs.owner.name}</name><memory unit="MiB">32</memory><os><type arch="x86_64" machine="q35">hvm</type></os></domain>`;
      const foreign = await client.domainDefineXML(xml);
      const before = await client.domainGetXMLDesc(foreign);
      await assert.rejects(create(inputs), reason("ForeignMachine"));
      assert.equal(await client.domainGetXMLDesc(foreign), before);
      assert.deepEqual((await harness.left()).volumes, []);
    });

    it("never touches the machine of another project with the same stack and pool", async () => {
      const inputs = harness.inputs("1");
      await create(inputs);
      const other = { ...inputs, owner: { ...inputs.owner, project: "another" } };
      await assert.rejects(create(other), reason("ForeignMachine"));
      assert.equal(await stateOf(inputs), DomainState.RUNNING);
    });

    it("lets two creators of the same machine both succeed, with one machine", async () => {
      const inputs = harness.inputs("1");
      const second = Harness.checked(kind);
      try {
        await Promise.all([create(inputs), second.backend.create(inputs, second.run)]);
      } finally {
        await second.dispose();
      }
      assert.equal(await stateOf(inputs), DomainState.RUNNING);
      assert.deepEqual(
        (await harness.left()).volumes,
        [seedName(inputs.owner), overlayName(inputs.owner)].sort(),
      );
    });

    it("reads: running as it was, stopped and paused as not well, undefined as absent", async () => {
      const inputs = harness.inputs("1");
      const { id, outputs } = await create(inputs);
      // Each read is a run of its own: what an earlier one saw is not shared.
      const read = async () => {
        await harness.sessions.closeAll();
        return harness.backend.read(id, outputs, harness.run);
      };
      assert.deepEqual(await read(), outputs);
      const domain = await client.domainLookupByName(inputs.owner.name);
      await client.domainDestroyFlags(domain);
      await assert.rejects(
        read(),
        (error) => error instanceof InitFailedError && /is stopped/.test(error.message),
      );
      await client.domainUndefineFlags(domain, 0);
      assert.equal(await read(), undefined);
    });

    for (const [what, host, wanted] of [
      ["pool", { pool: "no-such-pool" }, "PoolMissing"],
      ["network", { network: "no-such-network" }, "NetworkMissing"],
    ] as const) {
      it(`says that the ${what} is missing and leaves nothing behind`, async () => {
        await assert.rejects(create(harness.inputs("1", { host: harness.host(host) })), reason(wanted));
        assert.deepEqual(await harness.left(), { domains: [], volumes: [] });
      });
    }

    it("refuses a disk smaller than its image and leaves nothing behind", async () => {
      const { path, sha256 } = tinyImage(harness.directory, "2G");
      const image = { key: harness.prefix, url: path, sha256 };
      await assert.rejects(create(harness.inputs("1", { image })), reason("ImageTooLarge"));
      assert.deepEqual(await harness.left(), { domains: [], volumes: [] });
    });

    it("collects what a publisher left that died beside the base that a rival published", async () => {
      await create(harness.inputs("1"));
      const pool = await client.storagePoolLookupByName("default");
      const left = attemptName(KINDS[kind](harness.inputs("1")), processToken(), "00000000", "qcow2");
      await client.storageVolCreateXML(pool, renderUploadTarget(left));
      await harness.sessions.closeAll(); // a later run
      await create(harness.inputs("2"));
      const names = (await client.storagePoolListAllVolumes(pool)).map(({ name }) => name);
      assert.ok(!names.includes(left), names.join(" "));
    });

    it("stays within 12 calls for a create, 1 for a read and 8 for a delete", async () => {
      const members = await Promise.all(
        ["1", "2", "3", "4", "5"].map((member) => create(harness.inputs(member))),
      );
      const count = () => harness.calls.splice(0).length;
      count();
      const inputs = harness.inputs("6");
      const { id, outputs } = await create(inputs);
      const created = count();
      await Promise.all(
        members.map((member) => harness.backend.read(member.id, member.outputs, harness.run)),
      );
      const read = count() / members.length;
      await harness.backend.delete(id, outputs, harness.run);
      const deleted = count();
      assert.ok(created <= 12, `create took ${created} calls`);
      assert.ok(read <= 1, `a read took ${read} calls`);
      assert.ok(deleted <= 8, `delete took ${deleted} calls`);
    });
  });

async function* chunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
