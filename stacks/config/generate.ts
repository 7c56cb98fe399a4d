import { writeFileSync } from "node:fs";
import { generated } from "./generated";

/** `npm run docs`: writes the generated files, from the project's root. */
for (const [path, text] of Object.entries(generated())) {
  writeFileSync(path, text);
  console.log(`wrote ${path}`);
}
