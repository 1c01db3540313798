/** A trace file is not what it should be. */
export class TraceError extends Error {
  /** Counted from 1. */
  readonly line: number;

  constructor(line: number, expectation: string) {
    super(`line ${line}: ${expectation}`);
    this.name = 'TraceError';
    this.line = line;
  }
}
