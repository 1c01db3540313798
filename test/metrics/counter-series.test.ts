import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CounterSeries } from '../../src/metrics/counter-series.ts';

const ATTRIBUTES = Object.freeze({ model_name: 'test-model', engine: '0' });

function sumOf(amounts: Iterable<number | bigint>): number {
  const series = new CounterSeries(ATTRIBUTES);
  for (const amount of amounts) series.add(amount);
  return series.value;
}

describe('CounterSeries', () => {
  it('starts at 0 and adds up, fractions too', () => {
    const series = new CounterSeries(ATTRIBUTES);
    expect(series.value).toBe(0);
    series.add(2);
    series.add(0.5);
    expect(series.value).toBe(2.5);
    expect(series.attributes).toBe(ATTRIBUTES);
  });

  it('loses none of a million ones above 2^53, where a double would stand still', () => {
    const series = new CounterSeries(ATTRIBUTES);
    series.add(2 ** 53);
    for (let count = 0; count < 1_000_000; count += 1) series.add(1);
    expect(series.value).toBe(2 ** 53 + 1_000_000);
  });

  it('takes 64-bit integers whole', () => {
    expect(sumOf([9_007_199_254_740_993n, 1n])).toBe(9_007_199_254_740_994);
    expect(sumOf([2n ** 64n - 1n, 1n])).toBe(2 ** 64);
    expect(sumOf([2n ** 64n - 1n])).toBe(2 ** 64);
  });

  it('is the double nearest to the exact sum of any whole amounts', () => {
    const amount = fc.oneof(
      fc.nat(),
      fc.maxSafeNat(),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(Number),
    );
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 40 }), (amounts) => {
        const exact = amounts.reduce((sum: bigint, next) => sum + BigInt(next), 0n);
        expect(sumOf(amounts)).toBe(Number(exact));
      }),
    );
  });
});
