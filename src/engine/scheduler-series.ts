import type { CounterSeries } from '../metrics/counter-series.ts';
import type { GaugeSeries } from '../metrics/gauge-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';

/** The series of one engine that exist from the start and that its scheduler's statistics move, resolved once. */
export class SchedulerSeries {
  readonly running: GaugeSeries;
  readonly waiting: GaugeSeries;
  readonly waitingForCapacity: GaugeSeries;
  readonly waitingDeferred: GaugeSeries;
  readonly kvCacheUsage: GaugeSeries;
  readonly prefixCacheQueries: CounterSeries;
  readonly prefixCacheHits: CounterSeries;
  readonly externalPrefixCacheQueries: CounterSeries;
  readonly externalPrefixCacheHits: CounterSeries;
  /** By tier. */
  readonly cachedBySource: ReadonlyMap<string, CounterSeries>;
  readonly flopsPerGpu: CounterSeries;
  readonly readBytesPerGpu: CounterSeries;
  readonly writeBytesPerGpu: CounterSeries;
  readonly iterationTokens: HistogramSeries;
  readonly kvBlockLifetime: HistogramSeries;
  readonly kvBlockIdleBeforeEvict: HistogramSeries;
  readonly kvBlockReuseGap: HistogramSeries;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes) {
    const waitingFor = (reason: string): GaugeSeries =>
      group.gauge('vllm:num_requests_waiting_by_reason', Object.freeze({ ...base, reason }));
    const cachedIn = (source: string): CounterSeries =>
      group.counter('vllm:prompt_tokens_cached_by_source', Object.freeze({ ...base, source }));
    this.running = group.gauge('vllm:num_requests_running', base);
    this.waiting = group.gauge('vllm:num_requests_waiting', base);
    this.waitingForCapacity = waitingFor('capacity');
    this.waitingDeferred = waitingFor('deferred');
    this.kvCacheUsage = group.gauge('vllm:kv_cache_usage_perc', base);
    this.prefixCacheQueries = group.counter('vllm:prefix_cache_queries', base);
    this.prefixCacheHits = group.counter('vllm:prefix_cache_hits', base);
    this.externalPrefixCacheQueries = group.counter('vllm:external_prefix_cache_queries', base);
    this.externalPrefixCacheHits = group.counter('vllm:external_prefix_cache_hits', base);
    this.cachedBySource = new Map(CACHE_TIERS.map((tier) => [tier, cachedIn(tier)]));
    this.flopsPerGpu = group.counter('vllm:estimated_flops_per_gpu', base);
    this.readBytesPerGpu = group.counter('vllm:estimated_read_bytes_per_gpu', base);
    this.writeBytesPerGpu = group.counter('vllm:estimated_write_bytes_per_gpu', base);
    this.iterationTokens = group.histogram('vllm:iteration_tokens_total', base);
    this.kvBlockLifetime = group.histogram('vllm:kv_block_lifetime_seconds', base);
    this.kvBlockIdleBeforeEvict = group.histogram('vllm:kv_block_idle_before_evict_seconds', base);
    this.kvBlockReuseGap = group.histogram('vllm:kv_block_reuse_gap_seconds', base);
  }
}

const CACHE_TIERS = ['device', 'host', 'p2p', 'disk', 'external_unspecified'] as const;
