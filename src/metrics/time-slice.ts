import { setImmediate as nextTurn } from 'node:timers/promises';

/** Short beside the few milliseconds that a service may do nothing else: garbage collection takes its part, too. */
const SLICE_MILLIS = 1;

/**
 * Slices of long work, between which the event loop turns, so that the rest of the process waits for about one:
 *
 * ```ts
 * if (slice.isOver) await slice.next();
 * ```
 */
export class TimeSlice {
  readonly #now: () => number;
  #end: number;

  /** @param now - A clock in milliseconds. */
  constructor(now: () => number = monotonic) {
    this.#now = now;
    this.#end = now() + SLICE_MILLIS;
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return this.#now() >= this.#end;
  }

  /** Lets the event loop turn; then the next slice begins. */
  async next(): Promise<void> {
    await nextTurn();
    this.#end = this.#now() + SLICE_MILLIS;
  }
}

function monotonic(): number {
  return performance.now();
}
