/** A property that `check` refuses, and why. */
export interface CheckFailure {
  property: string;
  reason: string;
}

export interface Diff {
  changes: boolean;
  /** Properties whose change needs a new resource. */
  replaces: string[];
}

/** What a backend may tell and ask of the run that it works for. */
export interface RunContext {
  /** Fires when the run is over: the engine is gone, or Ctrl-C. Work stops before its next change. */
  readonly signal: AbortSignal;
  /** A passing remark beside the resource, overwritten by the next. */
  progress(message: string): void;
  /** Stays in the run's output. */
  warn(message: string): void;
}

/**
 * One kind of resource. Values are plain JSON. Any method may throw; `guard`
 * turns what it throws into what the engine understands.
 */
export interface Backend<Inputs, Outputs> {
  check(olds: Partial<Inputs> | undefined, news: Inputs): CheckFailure[];
  diff(olds: Outputs, news: Inputs): Diff;
  create(inputs: Inputs, run: RunContext): Promise<{ id: string; outputs: Outputs }>;
  /** Undefined: proved to be absent. Throws where it cannot be known. */
  read(id: string, outputs: Outputs, run: RunContext): Promise<Outputs | undefined>;
  update(id: string, olds: Outputs, news: Inputs, run: RunContext): Promise<Outputs>;
  delete(id: string, outputs: Outputs, run: RunContext): Promise<void>;
}

/** What stands in the inputs of a preview where a value is not known yet. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
