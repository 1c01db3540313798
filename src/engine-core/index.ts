export type {
  EngineCoreEvent,
  EngineCoreOutput,
  EngineCoreOutputs,
  PrefixCacheStats,
  SchedulerStats,
} from '../engine/messages.ts';
export type { PrefillStats } from '../request/prefill-stats.ts';
export { decodeEngineCoreOutputs, type DecodeOptions } from './decode-engine-core-outputs.ts';
export { EngineCoreDecodeError } from './engine-core-decode-error.ts';
