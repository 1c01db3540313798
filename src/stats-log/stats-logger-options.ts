import { requireOption } from '../metrics/require-option.ts';
import { SYSTEM_CLOCK, type Clock } from '../request/clock.ts';
import { isStatsLogger, type StatsRecordLogger, type StatsTextLogger } from './line-writer.ts';
import type { StatsLogStyle } from './throughput-line.ts';

/** Options of `StatsLogger`. A value of the wrong kind throws a `TypeError` that names the option. */
export interface StatsLoggerOptions {
  /**
   * Where the lines go: anything with `info` and `debug`, `console` or a pino or winston logger say, or what
   * `otelLogger` returns. Required.
   */
  readonly logger: StatsTextLogger | StatsRecordLogger;
  /** How often, in milliseconds, 1 to 2147483647. Default 10000. */
  readonly intervalMillis?: number | undefined;
  /** Whose words: `python` for those of vLLM's Python frontend, `rust` for its Rust frontend's. Default `python`. */
  readonly style?: StatsLogStyle | undefined;
  /**
   * True for lines on each engine, prefixed `Engine 000: `, each with an idle rule of its own. Default false: lines on
   * all engines together.
   */
  readonly perEngine?: boolean | undefined;
  /** The clock that measures intervals, in seconds. Default: this process's monotonic clock. */
  readonly clock?: Pick<Clock, 'monotonicSeconds'> | undefined;
}

/** {@link StatsLoggerOptions} with their defaults. */
export type ResolvedStatsLoggerOptions = {
  readonly [Name in keyof StatsLoggerOptions]-?: NonNullable<StatsLoggerOptions[Name]>;
};

/** The longest delay of a Node.js timer: a longer one fires at once. */
const MAX_MILLIS = 2 ** 31 - 1;

/** Where options stand that are an option themselves. */
interface OuterOption {
  /** The name to put before theirs in errors. */
  readonly name: string;
  /** The clock to use where they have none. */
  readonly clock: Clock;
}

/**
 * @param outer - Undefined for options on their own.
 * @throws TypeError naming the option, what is allowed and what came.
 */
export function resolveStatsLoggerOptions(
  options: StatsLoggerOptions,
  outer?: OuterOption,
): ResolvedStatsLoggerOptions {
  requireOption(
    outer?.name ?? 'options',
    'an object with at least logger',
    options,
    typeof options === 'object' && options !== null,
  );
  const {
    logger,
    intervalMillis = 10_000,
    style = 'python',
    perEngine = false,
    clock = outer?.clock ?? SYSTEM_CLOCK,
  } = options;
  const check = (name: string, allowed: string, value: unknown, isValid: boolean): void =>
    requireOption(outer === undefined ? name : `${outer.name}.${name}`, allowed, value, isValid);
  check(
    'logger',
    'an object with info() and debug(), or what otelLogger() returns',
    logger,
    isStatsLogger(logger),
  );
  check(
    'intervalMillis',
    `a number of milliseconds from 1 to ${MAX_MILLIS}`,
    intervalMillis,
    typeof intervalMillis === 'number' && intervalMillis >= 1 && intervalMillis <= MAX_MILLIS,
  );
  check('style', "'python' or 'rust'", style, style === 'python' || style === 'rust');
  check('perEngine', 'true or false', perEngine, typeof perEngine === 'boolean');
  check(
    'clock',
    'an object with monotonicSeconds()',
    clock,
    typeof (clock as Partial<Clock> | null)?.monotonicSeconds === 'function',
  );
  return Object.freeze({ logger, intervalMillis, style, perEngine, clock });
}
