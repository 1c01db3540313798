import assert from 'node:assert/strict';
import {
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';

type Labels = Readonly<Record<string, string>>;

/** The labels of engine 0 in the services of these tests. */
export const BASE: Labels = { model_name: 'test-model', engine: '0' };

/** What one histogram series holds. */
export interface HistogramReading {
  readonly count: number;
  readonly sum: number;
  /** One count per bucket, not cumulative, the last for `+Inf`. */
  readonly buckets: readonly number[];
}

/** One collection, looked into by metric name and labels. */
export class Reading {
  readonly metrics: readonly MetricData[];

  constructor(collected: ResourceMetrics) {
    this.metrics = collected.scopeMetrics.flatMap((scope) => scope.metrics);
  }

  get names(): readonly string[] {
    return this.metrics.map((metric) => metric.descriptor.name);
  }

  /** The one metric of this name. */
  metric(name: string): MetricData {
    const found = this.metrics.filter((metric) => metric.descriptor.name === name);
    assert.equal(found.length, 1, `metrics named ${name}`);
    return found[0]!;
  }

  /** The series of a metric. */
  points(name: string): readonly DataPoint<number | Histogram>[] {
    return this.metric(name).dataPoints as readonly DataPoint<number | Histogram>[];
  }

  /** The value of the one series of a counter or gauge with exactly these labels beside those of engine 0. */
  value(name: string, labels: Labels = {}): number {
    const value = this.#point(name, labels);
    assert(typeof value === 'number', `${name} is no counter or gauge`);
    return value;
  }

  /** The one series of a histogram with exactly these labels beside those of engine 0. */
  histogram(name: string, labels: Labels = {}): HistogramReading {
    assert.equal(this.metric(name).dataPointType, DataPointType.HISTOGRAM, `${name} is no histogram`);
    const { count, sum, buckets } = this.#point(name, labels) as Histogram;
    return { count, sum: sum ?? Number.NaN, buckets: buckets.counts };
  }

  /** Upper bounds of a histogram's buckets. */
  boundaries(name: string): readonly number[] {
    return (this.points(name)[0]!.value as Histogram).buckets.boundaries;
  }

  #point(name: string, labels: Labels): number | Histogram {
    const wanted = { ...BASE, ...labels };
    const found = this.points(name).filter(({ attributes }) => sameLabels(attributes, wanted));
    assert.equal(found.length, 1, `series ${name}${JSON.stringify(wanted)}`);
    return found[0]!.value;
  }
}

function sameLabels(attributes: object, wanted: Labels): boolean {
  const entries = Object.entries(attributes);
  return (
    entries.length === Object.keys(wanted).length && entries.every(([key, value]) => wanted[key] === value)
  );
}
