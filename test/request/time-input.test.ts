import type { TimeInput } from '@opentelemetry/api';
import { hrTimeToMicroseconds } from '@opentelemetry/core';
import { describe, expect, it } from 'vitest';
import { toHrTime, toWallSeconds } from '../../src/request/time-input.ts';
import { Traced } from '../support/traced.ts';

describe('toHrTime', () => {
  it.each([
    [0, [0, 0]],
    [1000, [1000, 0]],
    [1000.5, [1000, 500_000_000]],
    [1_764_426_000.25, [1_764_426_000, 250_000_000]],
    [0.000_000_001, [0, 1]],
    [0.999_999_999_9, [1, 0]],
  ])('of %d seconds is %j', (seconds, hrTime) => {
    expect(toHrTime(seconds)).toEqual(hrTime);
  });
});

describe('toWallSeconds', () => {
  it.each<[string, TimeInput]>([
    ['a pair of seconds and nanoseconds', [1_764_426_000, 250_000_000]],
    ['a Date', new Date(1_764_426_000_250)],
    ['milliseconds since the epoch, before this process started', 1_764_426_000_250],
    ['milliseconds since the epoch', Date.now() + 5000],
    ['a reading of performance.now()', 0.5],
  ])('reads %s as the SDK does', (_, time) => {
    const traced = new Traced();
    traced.tracer.startSpan('any', { startTime: [1000, 0] }).end(time);
    // The SDK takes the origin of performance.now() from Date.now(), which knows whole milliseconds only.
    const difference = toWallSeconds(time) * 1e6 - hrTimeToMicroseconds(traced.span.endTime);
    expect(Math.abs(difference)).toBeLessThan(2000);
  });

  it.each([[10n], [[10n, 0]], [Symbol('now')], [Object.create(null)], [{}], [Number.NaN]])(
    'reads no time from %o',
    (time) => {
      expect(toWallSeconds(time as TimeInput)).toBeNaN();
    },
  );
});
