/** `npm run images -- list | prune`: this machine's image cache. */
import {
  cacheDirectory,
  DEFAULT_MAX_CACHE_BYTES,
  listCache,
  pruneCache,
} from "@egress-proxies/providers/images/cache";
import { main } from "../common/say";
import { parseArguments, USAGE } from "./options";
import { imageLines, size, total } from "./report";

main(async () => {
  const command = parseArguments(process.argv.slice(2));
  if (command === undefined) {
    console.error(USAGE);
    return 2;
  }
  if (command.action === "list") {
    // First the marks of ended runs go, so that "in use" is true.
    await pruneCache({ dryRun: true });
    const entries = await listCache();
    for (const line of imageLines(entries)) console.log(line);
    console.log(`${total(entries)} of at most ${size(DEFAULT_MAX_CACHE_BYTES)} in ${cacheDirectory({})}`);
    return 0;
  }
  const { dryRun, limitGiB } = command;
  const limit = limitGiB === undefined ? {} : { maxCacheBytes: limitGiB * 1024 ** 3 };
  const removed = await pruneCache({ dryRun, ...limit });
  for (const line of imageLines(removed)) console.log(line);
  console.log(`${dryRun ? "would remove" : "removed"} ${total(removed)}`);
  return 0;
});
