import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addRepeatedly } from '../../src/bound-meter/aggregation.ts';

function oneByOne(sum: number, value: number, count: number): number {
  let result = sum;
  for (let added = 0; added < count; added += 1) result += value;
  return result;
}

describe('addRepeatedly', () => {
  it('gives what so many additions give, to the last bit', () => {
    const double = fc.oneof(
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
      // Halves of the distance between the sums, which round to the even one.
      fc.tuple(fc.nat(99), fc.integer({ min: -60, max: 5 })).map(([digits, power]) => digits * 2 ** power),
    );
    fc.assert(
      fc.property(double, double, fc.integer({ min: 0, max: 20_000 }), (sum, value, count) => {
        expect(addRepeatedly(sum, value, count)).toBe(oneByOne(sum, value, count));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [1, 2 ** -53, 1e5],
    [1 + 2 ** -52, 2 ** -53, 1e5],
    [2 ** 53 - 3, 1, 1e5],
    [0, 0.1, 1e6],
    [0, Number.MIN_VALUE, 1e5],
    [Number.MAX_VALUE / 2, Number.MAX_VALUE / 1e4, 1e5],
    [2 ** 1023, 0.4 * 2 ** 1023, 100],
    [Infinity, 1, 1e5],
    [5, 0, 1e5],
  ])('does so for %d, to which %d is added %d times', (sum, value, count) => {
    expect(addRepeatedly(sum, value, count)).toBe(oneByOne(sum, value, count));
  });

  it.each([
    [2, 2 ** 52 - 1, 2 ** 53 - 2],
    [0.5, Number.MAX_SAFE_INTEGER, 2 ** 52 - 0.5],
    [2 ** -60, Number.MAX_SAFE_INTEGER, 2 ** -7 - 2 ** -60],
    [Number.MAX_VALUE, Number.MAX_SAFE_INTEGER, Infinity],
  ])('adds %d as often as %d times in no time', (value, count, sum) => {
    expect(addRepeatedly(0, value, count)).toBe(sum);
  });
});
