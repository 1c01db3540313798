import { describe, expect, it } from 'vitest';
import { interval, SYSTEM_CLOCK } from '../../src/request/clock.ts';

describe('interval', () => {
  it.each([
    [1, 3, 2],
    [0, 0.5, 0.5],
    [3, 3, 0],
    [3, 1, 0],
    [Number.NaN, 3, 0],
    [1, Number.NaN, 0],
    [Number.NaN, Number.NaN, 0],
    [0, Infinity, 0],
    [Infinity, Infinity, 0],
    [-Infinity, 0, 0],
    [-Number.MAX_VALUE, Number.MAX_VALUE, 0],
  ])('from %d to %d is %d', (start, end, expected) => {
    expect(interval(start, end)).toBe(expected);
  });
});

describe('SYSTEM_CLOCK', () => {
  it('tells the wall clock in seconds since the epoch', () => {
    const before = Date.now() / 1000;
    const now = SYSTEM_CLOCK.wallSeconds();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it('tells a monotonic clock in seconds', () => {
    const before = performance.now() / 1000;
    const now = SYSTEM_CLOCK.monotonicSeconds();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(performance.now() / 1000);
  });
});
