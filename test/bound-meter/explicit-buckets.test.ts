import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExplicitBuckets } from '../../src/bound-meter/explicit-buckets.ts';

describe('ExplicitBuckets', () => {
  it('counts a value into the first bucket whose boundary is not below it, of any number of them', () => {
    const boundary = fc.integer({ min: -1000, max: 1000 });
    const property = fc.property(
      fc.array(boundary, { maxLength: 150, size: 'max' }),
      fc.array(fc.tuple(fc.integer({ min: -1010, max: 1010 }), fc.integer({ min: 1, max: 5 })), {
        minLength: 1,
      }),
      (boundaries, runs) => {
        const buckets = new ExplicitBuckets(boundaries);
        const sorted = [...boundaries].sort((left, right) => left - right);
        const accumulator = buckets.create();
        const counts = Array.from<number>({ length: sorted.length + 1 }).fill(0);
        for (const [value, times] of runs) {
          buckets.record(accumulator, value, times);
          const bucket = sorted.findIndex((upper) => value <= upper);
          counts[bucket === -1 ? sorted.length : bucket]! += times;
        }
        const values = runs.flatMap(([value, times]) => Array.from<number>({ length: times }).fill(value));
        expect(buckets.value(accumulator)).toEqual({
          buckets: { boundaries: sorted, counts },
          count: values.length,
          sum: values.reduce((sum, value) => sum + value, 0),
          min: Math.min(...values),
          max: Math.max(...values),
        });
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('sorts a copy of the boundaries, without infinities', () => {
    const given = [5, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY];
    expect(new ExplicitBuckets(given).boundaries).toEqual([1, 5]);
    expect(given).toEqual([5, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY]);
  });

  it('gives back what was recorded in two parts when they are merged', () => {
    const buckets = new ExplicitBuckets([1, 2]);
    const [into, from] = [buckets.create(), buckets.create()];
    expect(buckets.isEmpty(from)).toBe(true);
    for (const value of [1, 5]) buckets.record(into, value, 1);
    for (const value of [0.5, 1.5]) buckets.record(from, value, 1);
    expect(buckets.isEmpty(from)).toBe(false);
    buckets.merge(into, from);
    expect(buckets.value(into)).toEqual({
      buckets: { boundaries: [1, 2], counts: [2, 1, 1] },
      count: 4,
      sum: 8,
      min: 0.5,
      max: 5,
    });
    buckets.clear(into);
    expect(into).toEqual(buckets.create());
  });
});
