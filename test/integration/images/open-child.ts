import { openImage } from "@egress-proxies/providers/images/open";

/** A process of its own that opens images and ends. */
async function main(): Promise<void> {
  const { refs, options } = JSON.parse(process.argv[2] ?? "{}");
  for (const ref of refs) await openImage(ref, options);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
