import { requireOption } from '../metrics/require-option.ts';
import { SCOPE_NAME, SCOPE_VERSION } from '../metrics/scope.ts';
import type { StatsRecordLogger } from './line-writer.ts';
import type { StatsAttributes, StatsLine } from './stats-line.ts';

/** A log record as the OpenTelemetry Logs API takes it, of `@opentelemetry/api` 1.10 and `@opentelemetry/api-logs`. */
export interface OtelLogRecord {
  /** `vllm.stats.` and the kind of line. */
  eventName: string;
  /** INFO or DEBUG. */
  severityNumber: 9 | 5;
  severityText: string;
  body: string;
  attributes: StatsAttributes;
}

/** A `Logger` of the OpenTelemetry Logs API, as far as it is used. */
export interface OtelLogger {
  emit(record: OtelLogRecord): void;
}

/** A `LoggerProvider` of the OpenTelemetry Logs API, or the API's `logs`, as far as it is used. */
export interface OtelLoggerProvider {
  getLogger(name: string, version?: string): OtelLogger;
}

/**
 * Writes the stats log through the OpenTelemetry Logs API: the line as the body of a log record, its numbers as
 * attributes.
 *
 * @param target - A Logger, a LoggerProvider, or the API's `logs` for the global one. Of the last two a logger of this
 * package's scope is taken.
 * @throws TypeError when `target` is none of these.
 */
export function otelLogger(target: OtelLogger | OtelLoggerProvider): StatsRecordLogger {
  const { emit, getLogger } = (target ?? {}) as Partial<OtelLogger & OtelLoggerProvider>;
  requireOption(
    'target',
    'a Logger or LoggerProvider of the OpenTelemetry Logs API',
    target,
    typeof emit === 'function' || typeof getLogger === 'function',
  );
  const logger = isProvider(target) ? target.getLogger(SCOPE_NAME, SCOPE_VERSION) : target;
  return { writeLine: (line) => logger.emit(recordOf(line)) };
}

function isProvider(target: OtelLogger | OtelLoggerProvider): target is OtelLoggerProvider {
  return typeof (target as Partial<OtelLoggerProvider>).getLogger === 'function';
}

function recordOf({ kind, level, text, attributes }: StatsLine): OtelLogRecord {
  return {
    eventName: `vllm.stats.${kind}`,
    severityNumber: level === 'info' ? 9 : 5,
    severityText: level.toUpperCase(),
    body: text,
    attributes,
  };
}
