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

/** So many additions take less time than what saves some of them. */
const MAX_ADDITIONS = 64;

/**
 * `sum + value + value …`, rounded after each addition: a product would be rounded once. For any count in next to no time.
 *
 * @param value - Of a count above 1, not negative; nor is the sum.
 */
export function addRepeatedly(sum: number, value: number, count: number): number {
  let result = sum;
  let left = count;
  while (left > MAX_ADDITIONS) {
    const first = result + value;
    const second = first + value;
    result = second + value;
    left -= 3;
    // Sums between two powers of two lie equally far apart: there all additions are rounded alike, from the second on also
    // where the result is halfway between two, which goes to the even one.
    const step = result - second;
    if (!(step > 0)) return result;
    const steps = Math.min(left, Math.ceil((powerOfTwoAbove(first) - result) / step) - 1);
    // Not a number where the sum has become infinite.
    if (!(steps > 0)) continue;
    result += steps * step;
    left -= steps;
  }
  for (; left > 0; left -= 1) result += value;
  return result;
}

function powerOfTwoAbove(value: number): number {
  let power = 2 ** Math.floor(Math.log2(value));
  while (power <= value) power *= 2;
  return power;
}

/** Adds up: for counters and up-down counters. */
export const SUM: Aggregation<number> = new SumAggregation();

/** Keeps the last value: for gauges. */
export const LAST_VALUE: Aggregation<number> = new LastValueAggregation();
