import { randomFrom } from "../random";

/** When it comes: at a part of a whole run's bytes through one stack's relay, or of its time. */
export interface Moment {
  of: "bytes" | "time";
  part: number;
}

/** Which of the two stacks it hits. */
export type Victim = 0 | 1;

export type Cut = { moment: Moment; victim: Victim } & (
  | { kind: "connection"; stallMs: number; both: boolean }
  | { kind: "daemon"; downMs: number }
  | { kind: "process"; both: boolean }
  /** Leaves room for so many images. */
  | { kind: "disk"; room: number }
);

export interface Plan {
  /** Whether the whole CLI runs, or provider processes alone. */
  cli: boolean;
  /** Whether the base is published before, so that the cut hits the machines. */
  published: boolean;
  cut: Cut;
}

/** Every so many cuts the whole CLI runs. */
const CLI_EVERY = 20;

/** What a seed stands for. */
export function planOf(seed: number): Plan {
  const random = randomFrom(seed);
  const published = random() < 0.3;
  const moment: Moment = { of: !published && random() < 0.5 ? "bytes" : "time", part: random() };
  const victim: Victim = random() < 0.5 ? 0 : 1;
  return { cli: seed % CLI_EVERY === 0, published, cut: { moment, victim, ...kindOf(random) } };
}

function kindOf(random: () => number) {
  const choice = random();
  const strength = random();
  const both = random() < 0.25;
  if (choice < 0.35) {
    const stallMs = strength < 0.5 ? 0 : Math.round(strength * 4000);
    return { kind: "connection", stallMs, both } as const;
  }
  if (choice < 0.6) return { kind: "daemon", downMs: Math.round(strength ** 2 * 3000) } as const;
  if (choice < 0.85) return { kind: "process", both } as const;
  return { kind: "disk", room: strength ** 3 * 1.5 } as const;
}

export function describeCut(cut: Cut, names: readonly string[]): string {
  const victim = "both" in cut && cut.both ? names.join(" and ") : names[cut.victim];
  const when = `at ${Math.round(cut.moment.part * 100)} % of the ${cut.moment.of}`;
  switch (cut.kind) {
    case "connection":
      return `connection of ${victim} ${cut.stallMs > 0 ? `stalled for ${cut.stallMs} ms and then ` : ""}cut ${when}`;
    case "daemon":
      return `daemon killed and away for ${cut.downMs} ms ${when} of ${victim}`;
    case "process":
      return `process of ${victim} killed ${when}`;
    case "disk":
      return `disk with room for ${cut.room.toFixed(2)} images ${when} of ${victim}`;
  }
}
