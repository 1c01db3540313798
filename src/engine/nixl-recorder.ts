import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { CounterSeries } from '../metrics/counter-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { Statistic } from './messages.ts';
import type { Statistics } from './statistics.ts';

const HISTOGRAMS = {
  transfer_duration: 'vllm:nixl_xfer_time_seconds',
  post_duration: 'vllm:nixl_post_time_seconds',
  bytes_transferred: 'vllm:nixl_bytes_transferred',
  num_descriptors: 'vllm:nixl_num_descriptors',
} as const;

const COUNTERS = {
  num_failed_transfers: 'vllm:nixl_num_failed_transfers',
  num_failed_notifications: 'vllm:nixl_num_failed_notifications',
  num_kv_expired_reqs: 'vllm:nixl_num_kv_expired_reqs',
} as const;

type HistogramField = keyof typeof HISTOGRAMS;
type CounterField = keyof typeof COUNTERS;

/** What the NIXL connector reports: one entry per transfer, and increments of failures. Times in seconds. */
export type NixlStats = Readonly<Record<HistogramField | CounterField, readonly Statistic[]>>;

const HISTOGRAM_FIELDS = Object.keys(HISTOGRAMS) as HistogramField[];
const COUNTER_FIELDS = Object.keys(COUNTERS) as CounterField[];

/** Whether a payload is NIXL's: it has all its fields, each a list. */
export function isNixlStats(payload: Readonly<Record<string, unknown>>): payload is NixlStats {
  return [...HISTOGRAM_FIELDS, ...COUNTER_FIELDS].every((field) => Array.isArray(payload[field]));
}

/** Records the transfers of the NIXL connector of one engine. */
export class NixlRecorder {
  readonly #statistics: Statistics;
  readonly #histograms: Readonly<Record<HistogramField, HistogramSeries>>;
  readonly #counters: Readonly<Record<CounterField, CounterSeries>>;

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes, statistics: Statistics) {
    this.#statistics = statistics;
    this.#histograms = Object.fromEntries(
      HISTOGRAM_FIELDS.map((field) => [field, group.histogram(HISTOGRAMS[field], base)]),
    ) as Record<HistogramField, HistogramSeries>;
    this.#counters = Object.fromEntries(
      COUNTER_FIELDS.map((field) => [field, group.counter(COUNTERS[field], base)]),
    ) as Record<CounterField, CounterSeries>;
  }

  record(stats: NixlStats): void {
    for (const field of HISTOGRAM_FIELDS) {
      for (const value of stats[field]) {
        const sample = this.#statistics.sample(field, value);
        if (sample !== undefined) this.#histograms[field].record(sample, ROOT_CONTEXT);
      }
    }
    for (const field of COUNTER_FIELDS) {
      for (const value of stats[field]) this.#counters[field].add(this.#statistics.amount(field, value));
    }
  }
}
