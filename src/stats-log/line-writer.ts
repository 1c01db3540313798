import type { StatsLine, WritableLine } from './stats-line.ts';

/**
 * Any logger with these two methods, which get the line as their only argument: `console`, pino, winston,
 * OpenTelemetry's `diag`. What they return is ignored, save that a promise may reject.
 */
export interface StatsTextLogger {
  info(line: string): unknown;
  debug(line: string): unknown;
}

/** Takes lines with their numbers. `otelLogger` makes one. */
export interface StatsRecordLogger {
  writeLine(line: StatsLine): unknown;
}

/** Hands lines to a logger of the application. Never throws, whatever the logger does. */
export class LineWriter {
  readonly #logger: StatsTextLogger | StatsRecordLogger;
  readonly #onFailure: (error: unknown) => void;

  /** @param onFailure - Told of each line that the logger failed on. Must not throw. */
  constructor(logger: StatsTextLogger | StatsRecordLogger, onFailure: (error: unknown) => void) {
    this.#logger = logger;
    this.#onFailure = onFailure;
  }

  write(line: WritableLine): void {
    const logger = this.#logger;
    try {
      const returned = isRecordLogger(logger)
        ? logger.writeLine({ ...line, attributes: line.attributes() })
        : logger[line.level](line.text);
      if (isThenable(returned)) Promise.resolve(returned).catch(this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }
}

/** Whether lines can be written to it. */
export function isStatsLogger(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const { info, debug } = value as Partial<StatsTextLogger>;
  return isRecordLogger(value) || (typeof info === 'function' && typeof debug === 'function');
}

function isRecordLogger(value: object): value is StatsRecordLogger {
  return typeof (value as Partial<StatsRecordLogger>).writeLine === 'function';
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | undefined)?.then === 'function';
}
