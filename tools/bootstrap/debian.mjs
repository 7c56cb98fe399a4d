// Debian packages: only the missing ones, and apt-get update only when something is missing.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fail, run, say } from "./steps.mjs";

export async function installDebianPackages(folder) {
  const wanted = readFileSync(path.join(folder, "debian-packages.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const missing = missingPackages(wanted);
  if (missing.length === 0) return;
  say(`about to install ${missing.length} Debian packages for the lab host: ${missing.join(" ")}`);
  say("(libvirt and openssh-server are services: Debian enables them when it installs them)");
  const root = process.getuid() === 0;
  const remedy = "Install them by hand with apt-get install, then run this again.";
  const apt = (step, ...args) =>
    run(
      step,
      root ? "apt-get" : "sudo",
      root ? args : ["--preserve-env=DEBIAN_FRONTEND", "apt-get", ...args],
      {
        env: { DEBIAN_FRONTEND: "noninteractive" },
        remedy,
      },
    );
  await apt("apt-get update", "update", "-qq");
  await apt("apt-get install", "install", "-y", "-qq", "--no-install-recommends", ...missing);
}

function missingPackages(wanted) {
  const answer = spawnSync("dpkg-query", ["-W", "-f", `\${Package} \${db:Status-Status}\n`, ...wanted], {
    encoding: "utf8",
  });
  if (answer.error !== undefined) {
    fail(
      "dpkg-query",
      "is not there",
      "The lab host needs Debian 12; run the parts that need no lab (npm run test:unit).",
    );
  }
  const installed = new Set(
    answer.stdout
      .split("\n")
      .filter((line) => line.endsWith(" installed"))
      .map((line) => line.split(" ")[0]),
  );
  return wanted.filter((name) => !installed.has(name));
}
