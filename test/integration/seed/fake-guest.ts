import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The shell commands that a fake program runs, by its name; it logs each of its calls first. */
export type FakeCommands = Record<string, string>;

/** A shell body that makes `program` appear on PATH when a package manager is asked to install. */
export function installs(program: string): string {
  return `case "$*" in *install*|*add*) : >"$BIN/${program}"; chmod +x "$BIN/${program}";; esac`;
}

/** systemd with no service enabled, and OpenRC. */
export const SYSTEMD: FakeCommands = { systemctl: 'case "$1" in is-*) exit 1;; esac' };
export const OPENRC: FakeCommands = { "rc-update": "", "rc-service": "" };

/** A folder of fake programs that is all of PATH for a script. */
export class FakeGuest {
  private readonly folder = mkdtempSync(join(tmpdir(), "egress-guest-"));
  private readonly bin = join(this.folder, "bin");

  constructor() {
    mkdirSync(this.bin);
    const chmod = execFileSync("which", ["chmod"], { encoding: "utf8" }).trim();
    symlinkSync(chmod, join(this.bin, "chmod"));
    this.give({ sleep: "" });
  }

  give(commands: FakeCommands): void {
    for (const [name, body] of Object.entries(commands)) {
      writeFileSync(join(this.bin, name), `#!/bin/sh\necho "${name} $*" >>"$LOG"\n${body}\n`, {
        mode: 0o755,
      });
    }
  }

  has(program: string): boolean {
    return existsSync(join(this.bin, program));
  }

  /** Runs a script with sh and tells how it ended and which calls it made, in order. */
  run(script: string): { status: number; calls: string[]; stderr: string } {
    const log = join(this.folder, "log");
    const path = join(this.folder, "script");
    writeFileSync(log, "");
    writeFileSync(path, script);
    const { status, stderr } = spawnSync("/bin/sh", [path], {
      env: { PATH: this.bin, BIN: this.bin, LOG: log },
      encoding: "utf8",
    });
    assert.ok(status !== null, "the script was killed");
    return { status, calls: readFileSync(log, "utf8").split("\n").filter(Boolean), stderr };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
