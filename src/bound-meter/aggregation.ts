/** What measurements are aggregated into: numbers in a row, whose meaning is the aggregation's. */
export type Accumulator = Float64Array;

/** How measurements become the value of a data point. */
export interface Aggregation<Value> {
  /** An accumulator of no measurement. */
  create(): Accumulator;
  /** Records a finite value so many times, once or more: the outcome is that of as many calls. Allocates nothing. */
  record(accumulator: Accumulator, value: number, count: number): void;
  /** The bucket of a value, where there are buckets: each keeps an exemplar. */
  bucketOf?(value: number): number;
  /** Whether nothing has been recorded. */
  isEmpty(accumulator: Accumulator): boolean;
  /** Adds what was recorded in `from`, which is later and not empty, to `into`. */
  merge(into: Accumulator, from: Accumulator): void;
  /** Makes it empty again. */
  clear(accumulator: Accumulator): void;
  value(accumulator: Accumulator): Value;
}

const VALUE = 0;
const RECORDED = 1;

abstract class NumberAggregation implements Aggregation<number> {
  abstract record(accumulator: Accumulator, value: number, count: number): void;

  create(): Accumulator {
    return new Float64Array(2);
  }

  isEmpty(accumulator: Accumulator): boolean {
    return accumulator[RECORDED] === 0;
  }

  merge(into: Accumulator, from: Accumulator): void {
    this.record(into, from[VALUE] as number, 1);
  }

  clear(accumulator: Accumulator): void {
    accumulator.fill(0);
  }

  value(accumulator: Accumulator): number {
    return accumulator[VALUE] as number;
  }
}

class SumAggregation extends NumberAggregation {
  record(accumulator: Accumulator, value: number, count: number): void {
    accumulator[VALUE] = addRepeatedly(accumulator[VALUE] as number, value, count);
    accumulator[RECORDED] = 1;
  }
}

class LastValueAggregation extends NumberAggregation {
  record(accumulator: Accumulator, value: number): void {
    accumulator[VALUE] = value;
    accumulator[RECORDED] = 1;
  }
}

/** `sum + value + value …`, rounded after each addition: a product would be rounded once. */
export function addRepeatedly(sum: number, value: number, count: number): number {
  let result = sum;
  for (let added = 0; added < count; added += 1) result += value;
  return result;
}

/** Adds up: for counters and up-down counters. */
export const SUM: Aggregation<number> = new SumAggregation();

/** Keeps the last value: for gauges. */
export const LAST_VALUE: Aggregation<number> = new LastValueAggregation();
