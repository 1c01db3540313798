import type { EngineRequest } from './engine-request.ts';

/** How long an orphan may go without an output before it counts as lost, in seconds. */
const PATIENCE_SECONDS = 600;

interface Orphan {
  since: number;
  generatedTokens: number;
}

/**
 * Requests that the application has dropped while the engine's messages are being observed: those end them, as a
 * rule. One that gets no output for {@link PATIENCE_SECONDS} never reached the engine, or was aborted there without
 * a word, and would otherwise be in flight for ever.
 */
export class Orphans {
  readonly #orphans = new Map<EngineRequest, Orphan>();

  /** @param now - Wall clock, seconds. */
  add(request: EngineRequest, now: number): void {
    if (!request.ended) this.#orphans.set(request, { since: now, generatedTokens: request.generatedTokens });
  }

  /** Ends those that have waited too long as aborts. */
  sweep(now: number): void {
    for (const [request, orphan] of this.#orphans) {
      if (request.generatedTokens > orphan.generatedTokens) {
        orphan.since = now;
        orphan.generatedTokens = request.generatedTokens;
      }
      if (!request.ended && now - orphan.since >= PATIENCE_SECONDS) request.end('abort');
      if (request.ended) this.#orphans.delete(request);
    }
  }
}
