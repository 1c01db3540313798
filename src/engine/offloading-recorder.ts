import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { CounterSeries } from '../metrics/counter-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { Statistic } from './messages.ts';
import type { Statistics } from './statistics.ts';

/** What the offloading connector reports since the previous statistics: bytes, seconds, and bytes of each move. */
export interface OffloadingStats {
  readonly load_bytes: Statistic;
  readonly load_time?: number | undefined;
  readonly load_size?: readonly Statistic[] | null | undefined;
  readonly store_bytes: Statistic;
  readonly store_time?: number | undefined;
  readonly store_size?: readonly Statistic[] | null | undefined;
  readonly stores_skipped?: Statistic | undefined;
}

/** Whether a payload is the offloading connector's: it says how much was loaded and how much stored. */
export function isOffloadingStats(
  payload: Readonly<Record<string, unknown>>,
): payload is Readonly<Record<string, unknown>> & OffloadingStats {
  return isNumber(payload['load_bytes']) && isNumber(payload['store_bytes']);
}

/** The series of one direction, in vLLM's form of today and in the older one. */
class DirectionSeries {
  readonly #statistics: Statistics;
  readonly #bytes: readonly CounterSeries[];
  readonly #time: readonly CounterSeries[];
  readonly #size: readonly HistogramSeries[];

  constructor(
    group: SeriesGroup,
    base: SeriesAttributes,
    statistics: Statistics,
    direction: 'load' | 'store',
  ) {
    const older = Object.freeze({
      ...base,
      transfer_type: direction === 'load' ? 'CPU_to_GPU' : 'GPU_to_CPU',
    });
    this.#statistics = statistics;
    this.#bytes = [
      group.counter(`vllm:kv_offload_${direction}_bytes`, base),
      group.counter('vllm:kv_offload_total_bytes', older),
    ];
    this.#time = [
      group.counter(`vllm:kv_offload_${direction}_time`, base),
      group.counter('vllm:kv_offload_total_time', older),
    ];
    this.#size = [
      group.histogram(`vllm:kv_offload_${direction}_size`, base),
      group.histogram('vllm:kv_offload_size', older),
    ];
  }

  record(bytes: Statistic, seconds: number | undefined, sizes: OffloadingStats['load_size']): void {
    const moved = this.#statistics.amount('bytes of an offload', bytes);
    for (const series of this.#bytes) series.add(moved);
    const time = this.#statistics.amount('time of an offload', seconds);
    for (const series of this.#time) series.add(time);
    for (const size of this.#statistics.list('sizes of an offload', sizes)) {
      const sample = this.#statistics.sample('size of an offload', size);
      if (sample === undefined) continue;
      for (const series of this.#size) series.record(sample, ROOT_CONTEXT);
    }
  }
}

/** Records what the offloading connector of one engine moved. */
export class OffloadingRecorder {
  readonly #statistics: Statistics;
  readonly #load: DirectionSeries;
  readonly #store: DirectionSeries;
  readonly #skipped: CounterSeries;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes, statistics: Statistics) {
    this.#statistics = statistics;
    this.#load = new DirectionSeries(group, base, statistics, 'load');
    this.#store = new DirectionSeries(group, base, statistics, 'store');
    this.#skipped = group.counter('vllm:kv_offload_stores_skipped', base);
  }

  record(stats: OffloadingStats): void {
    this.#load.record(stats.load_bytes, stats.load_time, stats.load_size);
    this.#store.record(stats.store_bytes, stats.store_time, stats.store_size);
    this.#skipped.add(this.#statistics.amount('stores_skipped', stats.stores_skipped));
  }
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}
