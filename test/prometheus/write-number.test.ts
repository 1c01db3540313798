import { assert, bigInt, double, integer, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatNumber } from '../../src/prometheus/format-number.ts';
import { MAX_NUMBER_LENGTH, writeNumber } from '../../src/prometheus/write-number.ts';

/** What is written at an offset of 3, between bytes that must stay. */
function written(value: number): string {
  const bytes = Buffer.alloc(MAX_NUMBER_LENGTH + 4, '#');
  const end = writeNumber(bytes, 3, value);
  expect(bytes.toString('latin1', 0, 3)).toBe('###');
  expect(end).toBeLessThanOrEqual(3 + MAX_NUMBER_LENGTH);
  return bytes.toString('latin1', 3, end);
}

describe('writeNumber', () => {
  it.each([
    [0, '0.0'],
    [-0, '-0.0'],
    [7, '7.0'],
    [10, '10.0'],
    [34, '34.0'],
    [100_000, '100000.0'],
    [999_999, '999999.0'],
    [1e6, '1e+06'],
    [1_014_573, '1.014573e+06'],
    [1_200_000, '1.2e+06'],
    [99_999_999, '9.9999999e+07'],
    [1e8, '1e+08'],
    [100_000_001, '1.00000001e+08'],
    [123_400_000_000, '1.234e+11'],
    [1e15, '1e+15'],
    [Number.MAX_SAFE_INTEGER, '9.007199254740991e+15'],
    [2 ** 53, '9.007199254740992e+15'],
    [1e300, '1e+300'],
    [-5, '-5.0'],
    [0.25, '0.25'],
    [1_234_567.25, '1.23456725e+06'],
    [NaN, 'NaN'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
  ])('writes %s as %s', (value, text) => {
    expect(written(value)).toBe(text);
  });

  it('writes every number as formatNumber spells it', () => {
    const counts = bigInt({ min: 0n, max: 2n ** 60n }).map(Number);
    const rounded = integer({ min: 0, max: 15 }).chain((zeros) =>
      integer({ min: 1, max: 9_007_199 }).map((digits) => digits * 10 ** zeros),
    );
    assert(
      property(oneof(double(), integer({ min: 0, max: 2_000_000 }), counts, rounded), (value) => {
        expect(written(value)).toBe(formatNumber(value));
      }),
      { numRuns: 5000 },
    );
  });
});
