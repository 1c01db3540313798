import { setTimeout as sleep } from 'node:timers/promises';

/** How {@link pace} tells the time and waits; seconds throughout. */
export interface PaceClock {
  now(): number;
  sleep(seconds: number): Promise<unknown>;
}

const SYSTEM_CLOCK: PaceClock = {
  now: () => performance.now() / 1000,
  sleep: (seconds) => sleep(seconds * 1000),
};

/** The longest that other work of the process waits while events come faster than the clock. */
const MAX_BLOCKING_SECONDS = 0.02;

/**
 * Hands events on no earlier than their time.
 *
 * @param events In the order of their `at`, in simulated seconds.
 * @param timeScale Simulated seconds per second of the clock.
 * @param clock Default: this process's monotonic clock.
 */
export async function* pace<Event extends { readonly at: number }>(
  events: Iterable<Event>,
  timeScale: number,
  clock: PaceClock = SYSTEM_CLOCK,
): AsyncGenerator<Event, void> {
  const startedAt = clock.now();
  let resumedAt = startedAt;
  for (const event of events) {
    const now = clock.now();
    const early = startedAt + event.at / timeScale - now;
    if (early > 0 || now - resumedAt > MAX_BLOCKING_SECONDS) {
      await clock.sleep(Math.max(early, 0));
      resumedAt = clock.now();
    }
    yield event;
  }
}
