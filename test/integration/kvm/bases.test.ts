import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Marker, parseMarker } from "@egress-proxies/providers/images/marker";
import { markerName } from "@egress-proxies/providers/images/naming";
import { overlayName } from "@egress-proxies/providers/kvm/names";
import { DomainState, type LibvirtClient, type StorageVol } from "@egress-proxies/providers/libvirt/index";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import type { KvmMachineInputs } from "@egress-proxies/providers/machine/spec";
import { Harness, KINDS, type Kind, tinyImage } from "./harness";

let client: LibvirtClient;
const volume = (name: string): StorageVol => ({ pool: "default", name, key: "" });

async function read(name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of client.storageVolDownload(volume(name))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The marker of a machine's base. */
async function markerOf(kind: Kind, inputs: KvmMachineInputs): Promise<Marker> {
  const marker = parseMarker(await read(markerName(KINDS[kind](inputs))));
  assert.ok(marker !== undefined, "the marker is invalid");
  return marker;
}

/** Where a machine's disk finds what it does not hold itself. */
async function backingOf({ owner }: KvmMachineInputs): Promise<string | undefined> {
  const xml = await client.storageVolGetXMLDesc(volume(overlayName(owner)));
  return /<backingStore>[\s\S]*?<path>([^<]*)/.exec(xml)?.[1];
}

async function basesWith(prefix: string): Promise<string[]> {
  const volumes = await client.storagePoolListAllVolumes(await client.storagePoolLookupByName("default"));
  return volumes
    .map(({ name }) => name)
    .filter((name) => name.startsWith("base-") && name.includes(prefix))
    .sort();
}

async function assertRuns({ owner }: KvmMachineInputs): Promise<void> {
  const { state } = await client.domainGetState(await client.domainLookupByName(owner.name));
  assert.equal(state, DomainState.RUNNING, owner.name);
}

function refused(reason: string, ...parts: string[]) {
  return (error: unknown) => {
    assert.ok(error instanceof PermanentError, String(error));
    assert.equal(error.reason, reason, error.message);
    for (const part of parts) assert.ok(error.message.includes(part), `${error.message} lacks ${part}`);
    return true;
  };
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  describe(`bases of ${kind} through its machines, on a real daemon`, function () {
    this.timeout(60_000);
    let harness: Harness;
    beforeEach(async () => {
      harness = Harness.checked(kind);
      client = await harness.dial();
    });
    afterEach(async () => {
      await client.close();
      await harness.dispose();
    });
    const create = (inputs: KvmMachineInputs) => harness.backend.create(inputs, harness.run);

    it("hangs every machine of a key on one base, and keeps that when they are gone", async () => {
      const [one, two] = [harness.inputs("1"), harness.inputs("2")];
      const made = await Promise.all([one, two].map(create));
      const { path, volume: data } = await markerOf(kind, one);
      assert.deepEqual([await backingOf(one), await backingOf(two)], [path, path]);
      for (const { id, outputs } of made) await harness.backend.delete(id, outputs, harness.run);
      assert.deepEqual(await basesWith(harness.prefix), [data, markerName(KINDS[kind](one))].sort());
    });

    for (const what of ["url", "digest"] as const) {
      it(`refuses another ${what} under the same key, names both, and touches nothing`, async () => {
        const one = harness.inputs("1");
        await create(one);
        const before = await basesWith(harness.prefix);
        const copy = join(harness.directory, "copy.qcow2");
        copyFileSync(one.image.url, copy);
        const other = tinyImage(harness.directory, "17M");
        const image = what === "url" ? { ...one.image, url: copy } : { ...one.image, sha256: other.sha256 };
        await assert.rejects(
          create(harness.inputs("2", { image })),
          refused(
            "ImageKeyConflict",
            one.image.url,
            one.image.sha256,
            image.url,
            image.sha256,
            "a key of its own",
          ),
        );
        const [failure] = harness.backend.check(one, { ...one, image });
        assert.equal(failure?.property, "image", "a preview says so too");
        assert.deepEqual(await basesWith(harness.prefix), before);
        assert.deepEqual((await harness.left()).domains, [one.owner.name]);
        await assertRuns(one);
      });
    }

    for (const state of ["no", "an invalid"]) {
      it(`fetches a base with ${state} marker anew, but not while a machine hangs on it`, async () => {
        const one = harness.inputs("1");
        const { id, outputs } = await create(one);
        const { volume: data } = await markerOf(kind, one);
        const marker = markerName(KINDS[kind](one));
        await client.storageVolDelete(volume(marker));
        if (state === "an invalid") {
          const xml = `<volume><name>${marker}</name><capacity>1</capacity></volume>`;
          await client.storageVolCreateXML(await client.storagePoolLookupByName("default"), xml);
        }
        await harness.sessions.closeAll();
        await assert.rejects(
          create(harness.inputs("2")),
          refused("BaseUnmarked", data, one.owner.name, "new key"),
        );
        assert.ok((await basesWith(harness.prefix)).includes(data));
        await assertRuns(one);
        await harness.backend.delete(id, outputs, harness.run);
        await create(harness.inputs("2"));
        const now = await markerOf(kind, one);
        assert.deepEqual(await basesWith(harness.prefix), [now.volume, marker].sort());
      });
    }

    it("can be evicted by hand, the marker first, and comes again", async () => {
      const one = harness.inputs("1");
      const { id, outputs } = await create(one);
      await harness.backend.delete(id, outputs, harness.run);
      await harness.sessions.closeAll();
      const { volume: data } = await markerOf(kind, one);
      await client.storageVolDelete(volume(markerName(KINDS[kind](one))));
      await client.storageVolDelete(volume(data));
      await create(one);
      await assertRuns(one);
      assert.notEqual((await markerOf(kind, one)).volume, data);
    });
  });
}

describe("kvm and kvm2 entries side by side on one host", function () {
  this.timeout(60_000);
  let shared: Harness;
  let own: Harness;
  beforeEach(async () => {
    [shared, own] = [Harness.checked("kvm"), Harness.checked("kvm2")];
    client = await shared.dial();
  });
  afterEach(async () => {
    await client.close();
    await shared.dispose();
    await own.dispose();
  });

  it("share nothing though they use one key, not even the image behind it", async () => {
    const key = shared.prefix;
    const images = ["16M", "17M", "18M"].map((size) => {
      const { path, sha256 } = tinyImage(shared.directory, size);
      return { key, url: path, sha256 };
    });
    const [inShared, inA, inB] = [
      shared.inputs("1", { entry: "racks", image: images[0]! }),
      shared.inputs("2", { entry: "a", image: images[1]! }),
      shared.inputs("3", { entry: "b", image: images[2]! }),
    ];
    const made = await Promise.all([
      shared.backend.create(inShared, shared.run),
      own.backend.create(inA, own.run),
      own.backend.create(inB, own.run),
    ]);
    const markers = [
      await markerOf("kvm", inShared),
      await markerOf("kvm2", inA),
      await markerOf("kvm2", inB),
    ];
    assert.deepEqual(
      markers.map(({ sha256 }) => sha256),
      images.map(({ sha256 }) => sha256),
    );
    assert.deepEqual(
      await Promise.all([inShared, inA, inB].map(backingOf)),
      markers.map(({ path }) => path),
    );
    for (const inputs of [inShared, inA, inB]) await assertRuns(inputs);
    const stems = new Set((await basesWith(key)).map((name) => name.split(".")[0]));
    assert.deepEqual([...stems].sort(), [`base-${key}`, `base-a-${key}`, `base-b-${key}`].sort());

    const [first] = made;
    await shared.backend.delete(first!.id, first!.outputs, shared.run);
    for (const inputs of [inA, inB]) await assertRuns(inputs);
  });

  it("never take each other's base where the names only look the same", async () => {
    const { prefix } = shared;
    const one = own.inputs("1", { entry: prefix, image: { ...own.inputs("1").image, key: "b" } });
    await own.backend.create(one, own.run);
    const two = shared.inputs("2", { image: { ...shared.inputs("2").image, key: `${prefix}-b` } });
    await assert.rejects(
      shared.backend.create(two, shared.run),
      refused("BaseNameConflict", `base "${prefix}-b"`, `of entry "${prefix}"`, "another key"),
    );
    await assertRuns(one);
  });
});
