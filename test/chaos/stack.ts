/** An image under a key of its own. */
export interface ChaosImage {
  key: string;
  url: string;
  sha256: string;
}

/** A run that is under way. */
export interface Run {
  /** What went wrong; nothing: it ended well. Never rejects; a killed run ends with that it was killed. */
  readonly ended: Promise<string[]>;
  /** kill -9 of its processes. */
  kill(): void;
}

/** One of two stacks that work on the same host at the same time. */
export interface ChaosStack {
  readonly project: string;
  readonly name: string;
  /** The names of the machines that it asks for. */
  readonly machines: readonly string[];
  /** Makes the machines that the state does not know, and repairs those that it does. */
  up(image: ChaosImage): Run;
  destroy(): Run;
  close(): Promise<void>;
}
