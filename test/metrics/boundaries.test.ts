import { describe, expect, it } from 'vitest';
import { oneTwoFive, requireMaxModelLen } from '../../src/metrics/boundaries.ts';

describe('oneTwoFive', () => {
  it.each([
    [1, [1]],
    [2, [1, 2]],
    [4, [1, 2]],
    [5, [1, 2, 5]],
    [9, [1, 2, 5]],
    [10, [1, 2, 5, 10]],
    [4096, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]],
    [8192, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]],
    [100_000, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]],
    [131_071, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]],
    [131_072, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]],
  ])('goes up to the largest 1, 2 or 5 that is not above %i', (max, boundaries) => {
    expect(oneTwoFive(max)).toEqual(boundaries);
  });

  it('ends for the largest length there can be', () => {
    expect(oneTwoFive(Number.MAX_SAFE_INTEGER).at(-1)).toBe(5e15);
  });
});

describe('requireMaxModelLen', () => {
  it.each([1, 4096, Number.MAX_SAFE_INTEGER])('accepts %d', (length) => {
    expect(requireMaxModelLen(length)).toBe(length);
  });

  it('accepts that nothing is given', () => {
    expect(requireMaxModelLen(undefined)).toBeUndefined();
  });

  it.each([
    [0, '0'],
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    ['4096', '"4096"'],
    [null, 'null'],
  ])('refuses %s, naming the option, what is allowed and what came', (value, shown) => {
    expect(() => requireMaxModelLen(value)).toThrow(
      new TypeError(
        `maxModelLen must be a whole number of tokens, 1 or more (the model's context length); got ${shown}`,
      ),
    );
  });
});
