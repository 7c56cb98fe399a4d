import { z } from "zod";
import type { Project } from "../fleet/project";
import { unreadable } from "./known";

const listed = z.array(z.object({ name: z.string() }));

/**
 * What `pulumi stack export` prints for every stack of the project in the
 * backend; secrets stay encrypted, so no passphrase is needed.
 *
 * @throws PermanentError `StackUnreadable`
 */
export async function exportStacks(project: Project): Promise<Map<string, string>> {
  const list = await project.pulumi("stack", "ls", "--json");
  if (list.status !== 0) throw unreadable("*", `the stacks cannot be listed: ${list.stderr.trim()}`);
  const exports = new Map<string, string>();
  for (const { name } of listed.parse(JSON.parse(list.stdout))) {
    const { status, stdout, stderr } = await project.pulumi("stack", "export", "--stack", name);
    if (status !== 0) throw unreadable(name, `it cannot be exported: ${stderr.trim()}`);
    exports.set(name, stdout);
  }
  return exports;
}
