import type { HistogramSeries, NumberSeries, SeriesAttributes } from '../metrics/series.ts';
import type { SeriesStore } from '../metrics/series-store.ts';

/** The series that the scheduler of one engine moves, resolved once. */
export class SchedulerSeries {
  readonly running: NumberSeries;
  readonly waiting: NumberSeries;
  readonly waitingForCapacity: NumberSeries;
  readonly waitingDeferred: NumberSeries;
  readonly kvCacheUsage: NumberSeries;
  readonly prefixCacheQueries: NumberSeries;
  readonly prefixCacheHits: NumberSeries;
  readonly externalPrefixCacheQueries: NumberSeries;
  readonly externalPrefixCacheHits: NumberSeries;
  readonly iterationTokens: HistogramSeries;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(store: SeriesStore, base: SeriesAttributes) {
    const waitingFor = (reason: string): NumberSeries =>
      store.number('vllm:num_requests_waiting_by_reason', Object.freeze({ ...base, reason }));
    this.running = store.number('vllm:num_requests_running', base);
    this.waiting = store.number('vllm:num_requests_waiting', base);
    this.waitingForCapacity = waitingFor('capacity');
    this.waitingDeferred = waitingFor('deferred');
    this.kvCacheUsage = store.number('vllm:kv_cache_usage_perc', base);
    this.prefixCacheQueries = store.number('vllm:prefix_cache_queries', base);
    this.prefixCacheHits = store.number('vllm:prefix_cache_hits', base);
    this.externalPrefixCacheQueries = store.number('vllm:external_prefix_cache_queries', base);
    this.externalPrefixCacheHits = store.number('vllm:external_prefix_cache_hits', base);
    this.iterationTokens = store.histogram('vllm:iteration_tokens_total', base);
  }
}
