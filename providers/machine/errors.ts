/**
 * The error classes of the whole project. Code branches on the class and on
 * `reason`, never on a message; people read the message, which says what is
 * wrong, where, and what to do.
 */
export interface Fault {
  /** A stable word for what is wrong, in CamelCase: `HostKeyMismatch`, `PoolMissing`. */
  reason: string;
  /** What is wrong, as a sentence without its final full stop. */
  message: string;
  /** Where it is wrong: a host's name, or a property path of the config. */
  where?: string;
  /** What a person can do about it, as a sentence. */
  remedy?: string;
  cause?: unknown;
}

export abstract class EgressError extends Error {
  readonly reason: string;
  readonly where: string | undefined;
  readonly remedy: string | undefined;

  constructor(fault: Fault) {
    super(sentence(fault), fault.cause === undefined ? undefined : { cause: fault.cause });
    this.name = new.target.name;
    this.reason = fault.reason;
    this.where = fault.where;
    this.remedy = fault.remedy;
  }
}

/** The thing was looked for, the place to look answered, and it is not there. */
export class NotFoundError extends EgressError {}

/** May heal by itself: worth a bounded retry, and worth another run. */
export class TransientError extends EgressError {
  /** It was retried where it arose and did not heal: a layer above does not start all over. */
  exhausted = false;
}

/** Stays wrong until a person changes something. Never retried. */
export class PermanentError extends EgressError {}

function sentence({ where, message, remedy }: Fault): string {
  const what = where === undefined ? message : `${where}: ${message}`;
  return remedy === undefined ? what : `${what}. ${remedy}`;
}
