import type { Attributes, HrTime } from '@opentelemetry/api';
import type { DataPoint, MetricData } from '@opentelemetry/sdk-metrics';
import { numberMetric, type Collection, type MetricStream } from './collection.ts';
import type { Descriptor } from './descriptor.ts';
import type { MeasurementGate } from './measurement-gate.ts';
import { Point } from './point.ts';
import { TEMPORALITY, isGauge, isMonotonic } from './sdk-constants.ts';
import { SeriesTable, type Attributed } from './series-table.ts';
import { wallTime } from './wall-time.ts';

/** One series of an observable instrument, as one producer has observed it. */
export interface ObservedSeries extends Attributed {
  /** What is to be reported at the next collection; undefined where it was not observed. */
  observed: number | undefined;
  /** What was observed and reported last. */
  reported: number | undefined;
  startTime: HrTime;
}

/** What one producer has observed of a stream. */
interface Reading {
  readonly series: SeriesTable<ObservedSeries>;
  /** When the producer collected last; when the stream was made before that. */
  collectedAt: HrTime;
}

/** What an observable stream is made of. */
export interface ObservableStreamOptions {
  readonly descriptor: Descriptor;
  readonly gate: MeasurementGate;
  /** How many series each producer may observe beside the overflow. */
  readonly limit: number;
  readonly onOverflow: () => void;
}

/**
 * The series of an observable instrument, and of every instrument identical to it. Each producer has its own, since
 * callbacks are called for it alone ("Observations inside asynchronous callbacks" in the specification's metrics SDK).
 */
export class ObservableStream implements MetricStream {
  readonly gate: MeasurementGate;
  readonly #limit: number;
  readonly #onOverflow: () => void;
  readonly #createdAt = wallTime();
  readonly #readings: (Reading | undefined)[] = [];
  #descriptor: Descriptor;

  constructor(options: ObservableStreamOptions) {
    this.gate = options.gate;
    this.#limit = options.limit;
    this.#onOverflow = options.onOverflow;
    this.#descriptor = options.descriptor;
  }

  get descriptor(): Descriptor {
    return this.#descriptor;
  }

  describe(description: string): void {
    this.#descriptor = Object.freeze({ ...this.#descriptor, description });
  }

  /** The series that an observation for the coming collection of a producer is of. */
  resolve(producer: number, attributes: Attributes | undefined): ObservedSeries {
    return this.#reading(producer).series.resolve(attributes);
  }

  /** Takes an observation of a series; of several the last stands. */
  observe(producer: number, series: ObservedSeries, value: number): void {
    // What does not fit is together one series: of gauges again the last, else the sum.
    const addsUp = !isGauge(this.#descriptor.type) && this.#reading(producer).series.isOverflow(series);
    series.observed = addsUp ? (series.observed ?? 0) + value : value;
  }

  collect({ producer, endTime, temporalityOf, unobserved }: Collection): MetricData | undefined {
    const temporality = temporalityOf(this.#descriptor.type);
    const reading = this.#reading(producer);
    const points: DataPoint<number>[] = [];
    for (const series of reading.series.all) {
      if (series.observed !== undefined) {
        const value = this.#report(
          series,
          series.observed,
          reading.collectedAt,
          temporality === TEMPORALITY.cumulative,
        );
        const startTime = temporality === TEMPORALITY.cumulative ? series.startTime : reading.collectedAt;
        points.push(new Point(series.attributes, startTime, endTime, value));
      } else if (!unobserved.has(this) || series.reported === undefined) {
        // Not observed by callbacks that succeeded: it has ended. After one that failed it may only be missed.
        reading.series.delete(series);
      }
    }
    reading.collectedAt = endTime;
    return points.length === 0 ? undefined : numberMetric(this.#descriptor, temporality, points);
  }

  /** The value to report of an observation. A counter that has fallen was reset since the last collection. */
  #report(series: ObservedSeries, observed: number, since: HrTime, isCumulative: boolean): number {
    const { reported } = series;
    const isReset = reported !== undefined && isMonotonic(this.#descriptor.type) && observed < reported;
    if (isReset) series.startTime = since;
    series.reported = observed;
    series.observed = undefined;
    if (isCumulative || isGauge(this.#descriptor.type) || isReset) return observed;
    return observed - (reported ?? 0);
  }

  #reading(producer: number): Reading {
    return (this.#readings[producer] ??= this.#newReading());
  }

  #newReading(): Reading {
    const reading: Reading = {
      collectedAt: this.#createdAt,
      series: new SeriesTable<ObservedSeries>(
        this.#limit,
        (attributes) => ({
          attributes,
          observed: undefined,
          reported: undefined,
          startTime: reading.collectedAt,
        }),
        this.#onOverflow,
      ),
    };
    return reading;
  }
}
