import type { Histogram } from '@opentelemetry/sdk-metrics';
import { addRepeatedly, type Accumulator, type Aggregation } from './aggregation.ts';
import { EmptyHistogram, MeasuredHistogram } from './point.ts';

/** The specification's default boundaries ("Explicit Bucket Histogram Aggregation" in the metrics SDK). */
const DEFAULT_BOUNDARIES: readonly number[] = [
  0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000,
];

/** So many boundaries are faster gone through than halved: predictable branches beat fewer ones. */
const MAX_LINEAR = 32;

/**
 * A histogram with explicit buckets, a boundary belonging to the bucket below it. An accumulator holds a count per
 * bucket, then the sum, the minimum and the maximum.
 */
export class ExplicitBuckets implements Aggregation<Histogram> {
  /** Ascending and finite; the same array for every data point. */
  readonly boundaries: number[];
  /** The boundaries, and infinity, at which every search ends. */
  readonly #upper: Float64Array;

  /** @param boundaries - In any order; infinities are implied and left out. Default: the specification's. */
  constructor(boundaries: readonly number[] = DEFAULT_BOUNDARIES) {
    this.boundaries = boundaries.filter(Number.isFinite).sort((left, right) => left - right);
    this.#upper = Float64Array.of(...this.boundaries, Number.POSITIVE_INFINITY);
  }

  bucketOf(value: number): number {
    const upper = this.#upper;
    let bucket = 0;
    for (let high = upper.length - 1; high - bucket > MAX_LINEAR;) {
      const middle = (bucket + high) >>> 1;
      if ((upper[middle] as number) < value) bucket = middle + 1;
      else high = middle;
    }
    while ((upper[bucket] as number) < value) bucket += 1;
    return bucket;
  }

  record(accumulator: Accumulator, value: number, count: number): void {
    const sum = this.#upper.length;
    const bucket = this.bucketOf(value);
    accumulator[bucket] = (accumulator[bucket] as number) + count;
    accumulator[sum] = addRepeatedly(accumulator[sum] as number, value, count);
    if (value < (accumulator[sum + 1] as number)) accumulator[sum + 1] = value;
    if (value > (accumulator[sum + 2] as number)) accumulator[sum + 2] = value;
  }

  create(): Accumulator {
    const accumulator = new Float64Array(this.#upper.length + 3);
    this.clear(accumulator);
    return accumulator;
  }

  isEmpty(accumulator: Accumulator): boolean {
    return accumulator[this.#upper.length + 1] === Number.POSITIVE_INFINITY;
  }

  merge(into: Accumulator, from: Accumulator): void {
    const sum = this.#upper.length;
    for (let index = 0; index <= sum; index += 1) {
      into[index] = (into[index] as number) + (from[index] as number);
    }
    into[sum + 1] = Math.min(into[sum + 1] as number, from[sum + 1] as number);
    into[sum + 2] = Math.max(into[sum + 2] as number, from[sum + 2] as number);
  }

  clear(accumulator: Accumulator): void {
    const sum = this.#upper.length;
    accumulator.fill(0, 0, sum + 1);
    accumulator[sum + 1] = Number.POSITIVE_INFINITY;
    accumulator[sum + 2] = Number.NEGATIVE_INFINITY;
  }

  value(accumulator: Accumulator): Histogram {
    const length = this.#upper.length;
    const counts: number[] = [];
    let count = 0;
    for (let bucket = 0; bucket < length; bucket += 1) {
      const recorded = accumulator[bucket] as number;
      counts.push(recorded);
      count += recorded;
    }
    const sum = accumulator[length] as number;
    if (this.isEmpty(accumulator)) return new EmptyHistogram(this.boundaries, counts, count, sum);
    const min = accumulator[length + 1] as number;
    const max = accumulator[length + 2] as number;
    return new MeasuredHistogram(this.boundaries, counts, count, sum, min, max);
  }
}
