/** `npm run pulumi -- ARGS`: the Pulumi CLI of this checkout, with its plugins and its backend. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { binFolder, demoFolder, root } from "../common/paths";
import { status } from "../common/process";
import { main } from "../common/say";
import { pulumiEnvironment } from "./environment";

main(() => {
  // Ctrl-C reaches the CLI as well; this process only waits for how it ends.
  process.on("SIGINT", () => undefined);
  if (process.env.PULUMI_BACKEND_URL === undefined) {
    mkdirSync(path.join(demoFolder, "state"), { recursive: true });
  }
  return status(path.join(binFolder, "pulumi"), process.argv.slice(2), {
    cwd: root,
    env: pulumiEnvironment(process.env),
  });
});
