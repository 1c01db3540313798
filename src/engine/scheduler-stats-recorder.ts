import type { Drops } from '../metrics/drops.ts';
import type { NumberSeries } from '../metrics/series.ts';
import type { PrefixCacheStats, SchedulerStats } from './messages.ts';
import type { SchedulerSeries } from './scheduler-series.ts';

/** Moves the scheduler's series of one engine: gauges are set, deltas added. A value that can't be right is counted. */
export class SchedulerStatsRecorder {
  readonly #series: SchedulerSeries;
  readonly #drops: Drops;

  constructor(series: SchedulerSeries, drops: Drops) {
    this.#series = series;
    this.#drops = drops;
  }

  record(stats: SchedulerStats): void {
    const series = this.#series;
    const running = this.#valid('num_running_reqs', stats.num_running_reqs);
    const capacity = this.#valid('num_waiting_reqs', stats.num_waiting_reqs);
    const deferred = this.#valid('num_skipped_waiting_reqs', stats.num_skipped_waiting_reqs);
    series.running.value = running;
    series.waiting.value = capacity + deferred;
    series.waitingForCapacity.value = capacity;
    series.waitingDeferred.value = deferred;
    series.kvCacheUsage.value = this.#valid('kv_cache_usage', stats.kv_cache_usage);
    this.#addCache(stats.prefix_cache_stats, series.prefixCacheQueries, series.prefixCacheHits);
    this.#addCache(
      stats.connector_prefix_cache_stats,
      series.externalPrefixCacheQueries,
      series.externalPrefixCacheHits,
    );
  }

  /** Look-ups of resumed requests (`preempted_*`) stay out, as in vLLM. */
  #addCache(stats: PrefixCacheStats | null | undefined, queries: NumberSeries, hits: NumberSeries): void {
    if (stats === undefined || stats === null) return;
    if (typeof stats !== 'object') {
      this.#drops.count('malformedMessage', stats, 'statistics of a prefix cache');
      return;
    }
    queries.add(this.#valid('queries', stats.queries));
    hits.add(this.#valid('hits', stats.hits));
  }

  /** The statistic where it is finite and not negative; a missing one is the wire's default, 0. */
  #valid(name: string, value: number | undefined): number {
    if (value === undefined) return 0;
    if (typeof value === 'number' && value >= 0 && value < Infinity) return value;
    this.#drops.count('invalidValue', value, name);
    return 0;
  }
}
