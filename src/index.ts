export type { EngineMetrics } from './engine/engine-metrics.ts';
export type { SleepLevel } from './engine/frontend-series.ts';
export type {
  CudagraphStat,
  EngineCoreEvent,
  EngineCoreOutput,
  EngineCoreOutputs,
  KvCacheEvictionEvent,
  MultiModalCacheStats,
  PerfStats,
  PrefixCacheStats,
  SchedulerStats,
  SpecDecodingStats,
  Statistic,
} from './engine/messages.ts';
export type { ToolCallParserInvocation } from './engine/tool-call-parser-series.ts';
export { VllmInstrumentation, type VllmInstrumentationConfig } from './instrumentation.ts';
export { checkViews, type ViewConflict, type ViewSelector } from './metrics/check-views.ts';
export type { DropCounts, DropReason } from './metrics/drops.ts';
export { vllmViews, type VllmView, type VllmViewsOptions } from './metrics/views.ts';
export type { VllmInstrumentationOptions } from './options.ts';
export type { Clock } from './request/clock.ts';
export type { FinishReason } from './request/finish-reason.ts';
export type { PrefillStats } from './request/prefill-stats.ts';
export { getRequest, recordPreemption } from './request/request-context.ts';
export type { RequestEvent } from './request/request-event.ts';
export type {
  AdoptOptions,
  EndOptions,
  RecordTokensOptions,
  RequestOptions,
  StartRequestOptions,
} from './request/request-options.ts';
export type { TraceHeaders } from './request/trace-headers.ts';
export type { VllmRequest } from './request/vllm-request.ts';
export type { VllmStatus } from './status.ts';
