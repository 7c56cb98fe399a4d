/** A provider process with one operation under way, for as many milliseconds as its second argument says (0: none). */
import { setTimeout as sleep } from "node:timers/promises";
import { connectEngine } from "@egress-proxies/providers/pulumi/engine";

const [address, busyMs] = process.argv.slice(2);
const engine = connectEngine(address!);
// The provider process of the SDK lives as long as its server listens.
setInterval(() => undefined, 60_000);
if (Number(busyMs) > 0) {
  void engine.during(async () => {
    await sleep(Number(busyMs));
    console.log("done");
  });
}
console.log("ready");
