import { IntervalAccumulator } from '../engine/interval-accumulator.ts';
import { intervalBetween, type EngineInterval } from './engine-interval.ts';
import type { EngineStats, WatchedEngine } from '../engine/stats-source.ts';

/** Reads one engine for one log, interval by interval: with marks and an accumulator that no other log shares. */
export class IntervalReader {
  readonly #engine: WatchedEngine;
  readonly #accumulator = new IntervalAccumulator();
  readonly #detach: () => void;
  #mark: EngineStats;

  /** What the engine did before belongs to no interval. */
  constructor(engine: WatchedEngine) {
    this.#engine = engine;
    this.#mark = engine.readStats();
    this.#detach = engine.attach(this.#accumulator);
  }

  /**
   * What the engine did since the last time.
   *
   * @throws whatever the engine throws; then nothing is taken, and the next interval begins where this one did.
   */
  take(): EngineInterval {
    const now = this.#engine.readStats();
    const interval = intervalBetween(this.#mark, now, this.#accumulator.drain());
    this.#mark = now;
    return interval;
  }

  close(): void {
    this.#detach();
  }
}
