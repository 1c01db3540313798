import type { Attributes, HrTime } from '@opentelemetry/api';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import type { BucketExemplars } from '../metrics/bucket-exemplars.ts';

// What a collection makes by the thousand comes from constructors, not from object literals. A garbage collection in the
// midst of a scrape finds all of it alive; of a literal, V8 learns from that to put what it makes where only a major collection
// frees it, and the pauses of those were the longest blocks of a scrape.

/** A data point. */
export class Point<Value> implements DataPoint<Value> {
  readonly attributes: Attributes;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly value: Value;
  /** What the series of a histogram keeps: as it is when read, not when collected. */
  readonly exemplars: BucketExemplars | undefined;

  constructor(
    attributes: Attributes,
    startTime: HrTime,
    endTime: HrTime,
    value: Value,
    exemplars?: BucketExemplars,
  ) {
    this.attributes = attributes;
    this.startTime = startTime;
    this.endTime = endTime;
    this.value = value;
    this.exemplars = exemplars;
  }
}

class Buckets {
  readonly boundaries: number[];
  readonly counts: number[];

  constructor(boundaries: number[], counts: number[]) {
    this.boundaries = boundaries;
    this.counts = counts;
  }
}

/** A histogram without measurements, which has neither minimum nor maximum. */
export class EmptyHistogram implements Histogram {
  readonly buckets: Buckets;
  readonly count: number;
  readonly sum: number;

  constructor(boundaries: number[], counts: number[], count: number, sum: number) {
    this.buckets = new Buckets(boundaries, counts);
    this.count = count;
    this.sum = sum;
  }
}

/** A histogram with measurements. */
export class MeasuredHistogram extends EmptyHistogram {
  readonly min: number;
  readonly max: number;

  constructor(boundaries: number[], counts: number[], count: number, sum: number, min: number, max: number) {
    super(boundaries, counts, count, sum);
    this.min = min;
    this.max = max;
  }
}
