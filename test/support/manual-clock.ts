import type { Clock } from '../../src/request/clock.ts';

/** Both clocks stand still until a test moves them. */
export class ManualClock implements Clock {
  /** Wall clock, seconds since the epoch. */
  wall = 1000;
  /** The engine's monotonic clock, seconds. */
  monotonic = 50;

  wallSeconds(): number {
    return this.wall;
  }

  monotonicSeconds(): number {
    return this.monotonic;
  }
}
