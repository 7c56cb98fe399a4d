/** `npm run setup`: the Pulumi CLI with its plugins, and the lab's guest image. */
import { main, say } from "./common/say";
import { guestImage } from "./image/image";
import { setUpPulumi } from "./pulumi/setup";

main(async () => {
  await setUpPulumi();
  say(`guest image: ${await guestImage()}`);
  return 0;
});
