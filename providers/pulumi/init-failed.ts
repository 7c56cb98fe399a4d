/**
 * The resource exists and belongs into the state, but is not well. The engine
 * keeps it, shows the reasons, and calls `update` on the next `up`.
 */
export class InitFailedError extends Error {
  constructor(
    readonly id: string,
    readonly properties: Record<string, unknown>,
    readonly reasons: string[],
  ) {
    super(reasons.join("; "));
    this.name = "InitFailedError";
  }
}
