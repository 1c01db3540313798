export type { IntervalAccumulator } from '../engine/interval-accumulator.ts';
export type { StatsRecordLogger, StatsTextLogger } from './line-writer.ts';
export { otelLogger, type OtelLogger, type OtelLoggerProvider, type OtelLogRecord } from './otel-logger.ts';
export type { StatsAttributes, StatsLine, StatsLineKind } from './stats-line.ts';
export { StatsLogger } from './stats-logger.ts';
export type { StatsLoggerOptions } from './stats-logger-options.ts';
export type {
  EngineCounters,
  EngineStats,
  EngineWatcher,
  StatsSource,
  WatchedEngine,
} from '../engine/stats-source.ts';
export type { StatsLogStyle } from './throughput-line.ts';
