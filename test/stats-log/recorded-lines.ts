import type { StatsRecordLogger, StatsTextLogger } from '../../src/stats-log/line-writer.ts';
import type { StatsLine } from '../../src/stats-log/stats-line.ts';

/** A logger that keeps what it is given, each line with its level. */
export class RecordedLines implements StatsTextLogger {
  readonly records: StatsLine[] = [];
  #lines: string[] = [];

  info(line: string): void {
    this.#lines.push(`info: ${line}`);
  }

  debug(line: string): void {
    this.#lines.push(`debug: ${line}`);
  }

  /** The lines since the last time. */
  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** A logger that keeps whole lines, in `records`. */
  asRecords(): StatsRecordLogger {
    return { writeLine: (line) => this.records.push(line) };
  }
}
