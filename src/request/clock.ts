/**
 * The two clocks of this package. They are never subtracted from each other: arrival and receipt are wall-clock
 * times, everything the engine stamps is engine-monotonic.
 */
export interface Clock {
  /** Wall clock, seconds since the epoch. */
  wallSeconds(): number;
  /** Stands in for the engine's monotonic clock where a caller gives no timestamp; seconds. */
  monotonicSeconds(): number;
}

/** The clocks of this process. */
export const SYSTEM_CLOCK: Clock = {
  wallSeconds: () => Date.now() / 1000,
  monotonicSeconds: () => performance.now() / 1000,
};

/**
 * From `start` to `end`, in the unit of both; 0 where an end is not set (NaN), or the interval would be negative
 * or not finite. A sample is recorded all the same, so that every per-request histogram counts every request.
 */
export function interval(start: number, end: number): number {
  const difference = end - start;
  return difference > 0 && difference < Infinity ? difference : 0;
}
