import { describe, expect, it } from 'vitest';
import { parseExposition } from '../../../examples/demo/exposition.ts';
import { type Histogram, quantileBound, readHistogram } from '../../../examples/demo/histogram.ts';

const TEXT = `
h_bucket{engine="0",le="1.0"} 8
h_bucket{engine="0",le="2.0"} 9
h_bucket{engine="0",le="+Inf"} 10
h_count{engine="0"} 10
h_sum{engine="0"} 12
h_bucket{engine="1",le="1.0"} 1
h_bucket{engine="1",le="2.0"} 1
h_bucket{engine="1",le="+Inf"} 1
h_count{engine="1"} 1
h_sum{engine="1"} 0
other_bucket{le="5.0"} 1
`;

describe('readHistogram', () => {
  it('adds the engines up and takes the buckets apart', () => {
    expect(readHistogram(parseExposition(TEXT), 'h')).toEqual({
      buckets: [
        { le: '1.0', bound: 1, count: 9 },
        { le: '2.0', bound: 2, count: 1 },
        { le: '+Inf', bound: Infinity, count: 1 },
      ],
      count: 11,
      sum: 12,
    });
  });

  it('is empty where there is none', () => {
    expect(readHistogram([], 'h')).toEqual({ buckets: [], count: 0, sum: 0 });
  });
});

describe('quantileBound', () => {
  const histogram = (...counts: readonly number[]): Histogram => ({
    buckets: counts.map((count, index) => ({ le: '', bound: index + 1, count })),
    count: counts.reduce((sum, count) => sum + count, 0),
    sum: 0,
  });

  it.each([
    { counts: [50, 40, 10], q: 0.5, bound: 1 },
    { counts: [50, 40, 10], q: 0.51, bound: 2 },
    { counts: [50, 40, 10], q: 0.9, bound: 2 },
    { counts: [50, 40, 10], q: 0.99, bound: 3 },
    { counts: [0, 3, 0], q: 0, bound: 2 },
    { counts: [0, 3, 0], q: 1, bound: 2 },
    { counts: [0, 0, 0], q: 0.5, bound: undefined },
    { counts: [], q: 0.5, bound: undefined },
  ])('of $counts at $q is $bound', ({ counts, q, bound }) => {
    expect(quantileBound(histogram(...counts), q)).toBe(bound);
  });
});
