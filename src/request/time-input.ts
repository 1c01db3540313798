import type { HrTime, TimeInput } from '@opentelemetry/api';

/**
 * Wall-clock seconds as OpenTelemetry's pair of seconds and nanoseconds. A bare number would not do: the SDK takes
 * one that `performance.now()` has passed for a reading of that.
 */
export function toHrTime(wallSeconds: number): HrTime {
  const seconds = Math.floor(wallSeconds);
  const nanos = Math.round((wallSeconds - seconds) * 1e9);
  return nanos === 1e9 ? [seconds + 1, 0] : [seconds, nanos];
}

/**
 * A time given to `span.end()` as wall-clock seconds, read as the SDK reads it: a number that `performance.now()`
 * has passed is a reading of that, any other one milliseconds since the epoch. NaN where it can't be read.
 */
export function toWallSeconds(time: TimeInput): number {
  try {
    if (Array.isArray(time)) return time[0] + time[1] / 1e9;
    if (time instanceof Date) return time.getTime() / 1000;
    return (time <= performance.now() ? performance.timeOrigin + time : time) / 1000;
  } catch {
    return Number.NaN;
  }
}
