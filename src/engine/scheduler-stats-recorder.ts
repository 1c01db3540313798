import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { CounterSeries } from '../metrics/counter-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { ConnectorRecorder } from './connector-recorder.ts';
import { invalidRunPart } from './cudagraph-interval.ts';
import type { IntervalAccumulator } from './interval-accumulator.ts';
import type { KvFetchRecorder } from './kv-fetch-recorder.ts';
import type {
  CudagraphStat,
  KvCacheEvictionEvent,
  PerfStats,
  PrefixCacheStats,
  SchedulerStats,
} from './messages.ts';
import type { SchedulerSeries } from './scheduler-series.ts';
import type { SpecDecodeRecorder } from './spec-decode-recorder.ts';
import type { Statistics } from './statistics.ts';

/** The recorders of what only some engines report. */
export interface OptionalRecorders {
  readonly specDecode: SpecDecodeRecorder;
  readonly connectors: ConnectorRecorder;
  readonly kvFetch: KvFetchRecorder;
}

/** Moves the scheduler's series of one engine: gauges are set, deltas added. What can't be right is counted. */
export class SchedulerStatsRecorder {
  readonly #series: SchedulerSeries;
  readonly #optional: OptionalRecorders;
  readonly #statistics: Statistics;
  readonly #accumulators: ReadonlySet<IntervalAccumulator>;

  /** @param accumulators - Get what no series can tell. */
  constructor(
    series: SchedulerSeries,
    optional: OptionalRecorders,
    statistics: Statistics,
    accumulators: ReadonlySet<IntervalAccumulator>,
  ) {
    this.#series = series;
    this.#optional = optional;
    this.#statistics = statistics;
    this.#accumulators = accumulators;
  }

  record(stats: SchedulerStats): void {
    const statistics = this.#statistics;
    this.#setLoad(stats);
    const local = statistics.object('prefix_cache_stats', stats.prefix_cache_stats);
    if (local !== undefined) this.#addLocalCache(local);
    const external = statistics.object('connector_prefix_cache_stats', stats.connector_prefix_cache_stats);
    if (external !== undefined) this.#addExternalCache(external);

    const evictions = stats.kv_cache_eviction_events;
    if (evictions !== undefined && evictions !== null) this.#recordEvictions(evictions);
    const drafts = statistics.object('spec_decoding_stats', stats.spec_decoding_stats);
    if (drafts !== undefined) this.#optional.specDecode.record(drafts);
    const connectors = statistics.object('kv_connector_stats', stats.kv_connector_stats);
    if (connectors !== undefined) this.#optional.connectors.record(connectors);
    const perf = statistics.object('perf_stats', stats.perf_stats);
    if (perf !== undefined) this.#addPerf(perf);
    const run = statistics.object('cudagraph_stats', stats.cudagraph_stats);
    if (run !== undefined) this.#observeRun(run);
  }

  /** Sets the gauges to what an engine shows that has nothing to do. */
  setIdle(): void {
    this.#setLoad(NO_LOAD);
  }

  #setLoad(stats: SchedulerStats): void {
    const series = this.#series;
    const statistics = this.#statistics;
    series.running.set(statistics.level('num_running_reqs', stats.num_running_reqs));
    series.waitingForCapacity.set(statistics.level('num_waiting_reqs', stats.num_waiting_reqs));
    series.waitingDeferred.set(statistics.level('num_skipped_waiting_reqs', stats.num_skipped_waiting_reqs));
    series.waiting.set(series.waitingForCapacity.value + series.waitingDeferred.value);
    series.kvCacheUsage.set(statistics.level('kv_cache_usage', stats.kv_cache_usage));
    this.#optional.kvFetch.record(stats.num_kv_fetch_reqs_by_stage);
  }

  /** Look-ups of resumed requests (`preempted_*`) stay out, as in vLLM. */
  #addLocalCache(stats: PrefixCacheStats): void {
    const hits = this.#statistics.amount('hits', stats.hits);
    this.#series.prefixCacheQueries.add(this.#statistics.amount('queries', stats.queries));
    this.#series.prefixCacheHits.add(hits);
    this.#series.cachedBySource.get('device')?.add(hits);
  }

  #addExternalCache(stats: PrefixCacheStats): void {
    const statistics = this.#statistics;
    this.#series.externalPrefixCacheQueries.add(statistics.amount('queries', stats.queries));
    this.#series.externalPrefixCacheHits.add(statistics.amount('hits', stats.hits));
    const hitsBySource = statistics.object('hits_by_source', stats.hits_by_source);
    if (hitsBySource === undefined) return;
    for (const [source, series] of this.#series.cachedBySource) {
      if (Object.hasOwn(hitsBySource, source)) {
        series.add(statistics.amount('hits_by_source', hitsBySource[source]));
      }
    }
  }

  #addPerf(stats: PerfStats): void {
    const add = (name: keyof PerfStats, series: CounterSeries): void =>
      series.add(this.#statistics.amount(name, stats[name]));
    add('num_flops_per_gpu', this.#series.flopsPerGpu);
    add('num_read_bytes_per_gpu', this.#series.readBytesPerGpu);
    add('num_write_bytes_per_gpu', this.#series.writeBytesPerGpu);
  }

  /** No series tells of runs. One that can't be right is counted all the same, whether or not there is a log. */
  #observeRun(run: CudagraphStat): void {
    const invalid = invalidRunPart(run);
    if (invalid !== undefined) this.#statistics.reject(invalid, run[invalid]);
    else for (const accumulator of this.#accumulators) accumulator.observeCudagraph(run);
  }

  #recordEvictions(events: readonly KvCacheEvictionEvent[]): void {
    const statistics = this.#statistics;
    const record = (name: string, seconds: number | undefined, series: HistogramSeries): void => {
      const sample = statistics.sample(name, seconds);
      if (sample !== undefined) series.record(sample, ROOT_CONTEXT);
    };
    for (const given of statistics.list('kv_cache_eviction_events', events)) {
      const event = statistics.object('an eviction event', given);
      if (event === undefined) continue;
      record('lifetime_seconds', event.lifetime_seconds, this.#series.kvBlockLifetime);
      record('idle_seconds', event.idle_seconds, this.#series.kvBlockIdleBeforeEvict);
      for (const gap of statistics.list('reuse_gaps_seconds', event.reuse_gaps_seconds)) {
        record('reuse_gaps_seconds', gap, this.#series.kvBlockReuseGap);
      }
    }
  }
}

const NO_LOAD: SchedulerStats = {};
