import { ensureBase } from "@egress-proxies/providers/images/publish";
import { LabHost } from "./lab-host";

/** A publisher in a process of its own: says when it begins, and what the base is. */
async function main(): Promise<void> {
  const { naming, ref, options } = JSON.parse(process.argv[2] ?? "{}");
  const host = new LabHost();
  await host.calls();
  process.send?.({ ready: true });
  const base = await ensureBase(host, naming, ref, options);
  await host.close();
  process.send?.({ base }, undefined, undefined, () => process.disconnect());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
