/** `npm run setup`: the Pulumi CLI with its plugins, and the lab's guest image; with --no-lab only the first. */
import { main, say } from "./common/say";
import { guestImage } from "./image/image";
import { setUpPulumi } from "./pulumi/setup";

main(async () => {
  await setUpPulumi();
  if (!process.argv.includes("--no-lab")) say(`guest image: ${await guestImage()}`);
  return 0;
});
