import type { Drops } from '../metrics/drops.ts';
import { SYSTEM_CLOCK, type Clock } from './clock.ts';

/** A clock of the application's, which may fail like anything else of it: this process's own then stands in. */
export class GuardedClock implements Clock {
  readonly #clock: Clock;
  readonly #drops: Drops;

  constructor(clock: Clock, drops: Drops) {
    this.#clock = clock;
    this.#drops = drops;
  }

  wallSeconds(): number {
    return this.#read('wallSeconds');
  }

  monotonicSeconds(): number {
    return this.#read('monotonicSeconds');
  }

  #read(clock: keyof Clock): number {
    try {
      const seconds = this.#clock[clock]();
      if (Number.isFinite(seconds)) return seconds;
      this.#drops.count('invalidValue', seconds, `clock.${clock}()`);
    } catch (error) {
      this.#drops.count('invalidValue', error, `clock.${clock}()`);
    }
    return SYSTEM_CLOCK[clock]();
  }
}
