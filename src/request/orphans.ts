import type { EngineRequest } from './engine-request.ts';

/** How long an orphan may go without an output before it counts as lost, in seconds. */
const PATIENCE_SECONDS = 600;

/** Going through the orphans takes time for each, and messages are many. */
const SWEEP_INTERVAL_SECONDS = 10;

interface Orphan {
  since: number;
  heardOf: boolean;
}

/**
 * Requests that the application has dropped while the engine's messages are being observed: those end them, as a
 * rule. One that gets no output for {@link PATIENCE_SECONDS} never reached the engine, or was aborted there without
 * a word, and would otherwise be in flight for ever.
 *
 * All times are this process's wall clock, in seconds.
 */
export class Orphans {
  readonly #orphans = new Map<EngineRequest, Orphan>();
  #sweptAt = -Infinity;

  get size(): number {
    return this.#orphans.size;
  }

  add(request: EngineRequest, now: number): void {
    if (!request.ended) this.#orphans.set(request, { since: now, heardOf: false });
  }

  /** Notes that an output came for a request that may be an orphan. */
  touch(request: EngineRequest): void {
    const orphan = this.#orphans.get(request);
    if (orphan !== undefined) orphan.heardOf = true;
  }

  /** {@link sweep}, unless that was done a moment ago. */
  sweepNowAndThen(now: number): void {
    if (Math.abs(now - this.#sweptAt) >= SWEEP_INTERVAL_SECONDS) this.sweep(now);
  }

  /** Ends those that have waited too long as aborts. */
  sweep(now: number): void {
    this.#sweptAt = now;
    for (const [request, orphan] of this.#orphans) {
      if (orphan.heardOf) {
        orphan.since = now;
        orphan.heardOf = false;
      }
      if (!request.ended && now - orphan.since >= PATIENCE_SECONDS) request.end('abort');
      if (request.ended) this.#orphans.delete(request);
    }
  }
}
