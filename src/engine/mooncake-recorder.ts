import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { CounterSeries } from '../metrics/counter-series.ts';
import type { HistogramSeries } from '../metrics/histogram-series.ts';
import type { SeriesAttributes } from '../metrics/series-attributes.ts';
import type { SeriesGroup } from '../metrics/series-group.ts';
import type { Statistic } from './messages.ts';
import type { Statistics } from './statistics.ts';

const OPERATIONS = ['save_exists', 'save_put', 'load_get', 'lookup_exists'] as const;
const STATUSES: ReadonlySet<unknown> = new Set(['ok', 'error', 'partial_failure']);

/** One operation of the Mooncake store. */
interface MooncakeOperation {
  readonly duration_seconds?: number | undefined;
  readonly num_keys?: Statistic | undefined;
  readonly num_bytes?: Statistic | undefined;
  readonly status?: string | undefined;
  readonly num_failed_keys?: Statistic | undefined;
}

/** What the Mooncake store connector reports: the operations of each kind. */
export type MooncakeStats = Readonly<
  Partial<Record<(typeof OPERATIONS)[number], readonly MooncakeOperation[]>>
>;

/** Whether a payload is the Mooncake store's: it lists operations of a kind that the store has. */
export function isMooncakeStats(payload: Readonly<Record<string, unknown>>): payload is MooncakeStats {
  return OPERATIONS.some((operation) => Array.isArray(payload[operation]));
}

interface OperationSeries {
  readonly time: HistogramSeries;
  readonly operations: CounterSeries;
  readonly keys: CounterSeries;
  readonly bytes: CounterSeries;
  readonly failedKeys: CounterSeries;
}

/** Records the operations of the Mooncake store of one engine. Series appear by operation and status when seen. */
export class MooncakeRecorder {
  readonly #group: SeriesGroup;
  readonly #base: SeriesAttributes;
  readonly #statistics: Statistics;
  readonly #series = new Map<string, Map<string, OperationSeries>>();

  /** @param base - The `model_name` and `engine` of the engine. */
  constructor(group: SeriesGroup, base: SeriesAttributes, statistics: Statistics) {
    this.#group = group;
    this.#base = base;
    this.#statistics = statistics;
  }

  record(stats: MooncakeStats): void {
    for (const operation of OPERATIONS) {
      for (const given of this.#statistics.list(operation, stats[operation])) {
        const record = this.#statistics.object(operation, given);
        if (record !== undefined) this.#recordOperation(operation, record);
      }
    }
  }

  #recordOperation(operation: string, record: MooncakeOperation): void {
    const statistics = this.#statistics;
    const { status } = record;
    if (status === undefined || !STATUSES.has(status)) {
      statistics.reject(`status of ${operation}`, status);
      return;
    }
    const series = this.#seriesOf(operation, status);
    const seconds = statistics.sample('duration_seconds', record.duration_seconds);
    if (seconds !== undefined) series.time.record(seconds, ROOT_CONTEXT);
    series.operations.add(1);
    series.keys.add(statistics.amount('num_keys', record.num_keys));
    series.bytes.add(statistics.amount('num_bytes', record.num_bytes));
    series.failedKeys.add(statistics.amount('num_failed_keys', record.num_failed_keys));
  }

  #seriesOf(operation: string, status: string): OperationSeries {
    let byStatus = this.#series.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#series.set(operation, byStatus);
    }
    let series = byStatus.get(status);
    if (series === undefined) {
      const attributes = Object.freeze({ ...this.#base, operation, status });
      series = {
        time: this.#group.histogram('vllm:mooncake_store_operation_time_seconds', attributes),
        operations: this.#group.counter('vllm:mooncake_store_operation', attributes),
        keys: this.#group.counter('vllm:mooncake_store_operation_keys', attributes),
        bytes: this.#group.counter('vllm:mooncake_store_operation_bytes', attributes),
        failedKeys: this.#group.counter('vllm:mooncake_store_operation_failed_keys', attributes),
      };
      byStatus.set(status, series);
    }
    return series;
  }
}
