import type { LiveRequests } from '../request/live-requests.ts';

/** How long an engine must have been silent, in seconds. One that has work takes several steps in a second. */
const SILENCE_SECONDS = 5;

/**
 * Tells when the gauges of an engine have gone stale. An engine sends statistics with its steps alone; when its last
 * requests are aborted it takes no further step, and its last numbers of running and waiting requests would stand for
 * ever: a router would go on avoiding an idle engine.
 *
 * An engine is idle where this frontend has had requests on it, has none in flight now, and has heard nothing of it
 * for {@link SILENCE_SECONDS}. Where other frontends have requests on the engine, it steps, and is heard of. A service
 * that starts no requests and only hands on statistics never comes under the rule.
 *
 * Silence is noticed by the collections, so that messages cost no reading of the clock.
 */
export class IdleRule {
  #heard = false;
  #silentSince = Number.NaN;

  /** A message of the engine has come. */
  heard(): void {
    this.#heard = true;
  }

  /**
   * Whether the engine is idle. To be asked at each collection.
   *
   * @param live - The engine's requests in flight.
   * @param now - A monotonic clock, seconds.
   */
  applies(live: Pick<LiveRequests, 'size' | 'used'>, now: number): boolean {
    if (this.#heard || live.size > 0 || Number.isNaN(this.#silentSince)) {
      this.#heard = false;
      this.#silentSince = now;
      return false;
    }
    return live.used && now - this.#silentSince >= SILENCE_SECONDS;
  }
}
