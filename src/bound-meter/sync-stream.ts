import type { Attributes, Context, HrTime } from '@opentelemetry/api';
import type { AggregationTemporality, DataPoint, MetricData } from '@opentelemetry/sdk-metrics';
import { BucketExemplars } from '../metrics/bucket-exemplars.ts';
import { sampledSpan } from '../metrics/sampled-span.ts';
import type { Aggregation } from './aggregation.ts';
import type { Collection, MetricStream } from './collection.ts';
import type { Descriptor } from './descriptor.ts';
import type { MeasurementGate } from './measurement-gate.ts';
import { Point } from './point.ts';
import { TEMPORALITY } from './sdk-constants.ts';
import { Series } from './series.ts';
import { SeriesTable } from './series-table.ts';
import { wallTime } from './wall-time.ts';

/** What a stream of a synchronous instrument is made of. */
export interface SyncStreamOptions<Value> {
  readonly descriptor: Descriptor;
  readonly aggregation: Aggregation<Value>;
  readonly gate: MeasurementGate;
  /** How many series there may be beside the overflow. */
  readonly limit: number;
  readonly onOverflow: () => void;
  /** Whether histograms keep exemplars. */
  readonly exemplars: boolean;
  readonly toMetric: (
    descriptor: Descriptor,
    temporality: AggregationTemporality,
    dataPoints: DataPoint<Value>[],
  ) => MetricData;
}

/** The series of a synchronous instrument, and of every instrument identical to it. */
export class SyncStream<Value> implements MetricStream {
  readonly #aggregation: Aggregation<Value>;
  readonly #gate: MeasurementGate;
  readonly #toMetric: SyncStreamOptions<Value>['toMetric'];
  readonly #series: SeriesTable<Series<Value>>;
  readonly #keepsExemplars: boolean;
  readonly #createdAt = wallTime();
  /** When each delta producer collected last. */
  readonly #collectedAt: HrTime[] = [];
  #descriptor: Descriptor;

  constructor(options: SyncStreamOptions<Value>) {
    this.#aggregation = options.aggregation;
    this.#gate = options.gate;
    this.#descriptor = options.descriptor;
    this.#toMetric = options.toMetric;
    this.#keepsExemplars = options.exemplars && options.aggregation.bucketOf !== undefined;
    this.#series = new SeriesTable(
      options.limit,
      (attributes) => new Series<Value>(attributes, options.aggregation),
      options.onOverflow,
    );
  }

  get descriptor(): Descriptor {
    return this.#descriptor;
  }

  describe(description: string): void {
    this.#descriptor = Object.freeze({ ...this.#descriptor, description });
  }

  /** The series that a measurement with these attributes goes into: their own, or the overflow's. */
  resolve(attributes: Attributes | undefined): Series<Value> {
    return this.#series.resolve(attributes);
  }

  /** Records into a series what the gate admits, so many times. No allocation, no look-up. */
  recordInto(series: Series<Value>, value: number, count: number, context: Context | undefined): void {
    const admitted = this.#gate.passes(value) ? value : this.#gate.salvage(value, count);
    if (admitted === undefined) return;
    this.#aggregation.record(series.live, admitted, count);
    if (this.#keepsExemplars && context !== undefined) this.#offer(series, admitted, context);
  }

  /** Records into the series of these attributes what the gate admits. What is dropped makes no series. */
  record(value: number, attributes: Attributes | undefined, context: Context | undefined): void {
    const admitted = this.#gate.passes(value) ? value : this.#gate.salvage(value);
    if (admitted === undefined) return;
    this.recordInto(this.resolve(attributes), admitted, 1, context);
  }

  /** Drops a series; not the overflow's, as others' measurements are in it. */
  drop(series: Series<Value>): void {
    if (this.#series.isOverflow(series)) return;
    this.#series.delete(series);
    series.isDropped = true;
  }

  collect({ producer, endTime, temporalityOf }: Collection): MetricData | undefined {
    const temporality = temporalityOf(this.#descriptor.type);
    const points =
      temporality === TEMPORALITY.delta
        ? this.#deltaPoints(producer, endTime)
        : this.#cumulativePoints(endTime);
    return points.length === 0 ? undefined : this.#toMetric(this.#descriptor, temporality, points);
  }

  /** Keeps a measurement as its bucket's exemplar where it was made in a sampled span. */
  #offer(series: Series<Value>, value: number, context: Context): void {
    const span = sampledSpan(context);
    if (span === undefined) return;
    const bucket = this.#aggregation.bucketOf?.(value) ?? 0;
    (series.exemplars ??= new BucketExemplars()).keep(bucket, value, span);
  }

  #cumulativePoints(endTime: HrTime): DataPoint<Value>[] {
    const points: DataPoint<Value>[] = [];
    for (const series of this.#series.all) {
      const { attributes, startTime, exemplars } = series;
      points.push(new Point(attributes, startTime, endTime, series.cumulative(), exemplars));
    }
    return points;
  }

  /** All of one start ("Start timestamps" in the specification's metrics SDK). */
  #deltaPoints(producer: number, endTime: HrTime): DataPoint<Value>[] {
    const startTime = this.#collectedAt[producer] ?? this.#createdAt;
    this.#collectedAt[producer] = endTime;
    const points: DataPoint<Value>[] = [];
    for (const series of this.#series.all) {
      const value = series.delta(producer);
      if (value === undefined) continue;
      points.push(new Point(series.attributes, startTime, endTime, value, series.exemplars));
    }
    return points;
  }
}
