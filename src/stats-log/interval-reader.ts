import { IntervalAccumulator } from '../engine/interval-accumulator.ts';
import type { EngineStats, WatchedEngine } from '../engine/stats-source.ts';
import { intervalBetween, type EngineInterval } from './engine-interval.ts';

/**
 * Reads one engine for one log, interval by interval: with marks and an accumulator that no other log shares. What the
 * engine did before the first reading belongs to no interval.
 */
export class IntervalReader {
  readonly #engine: WatchedEngine;
  readonly #accumulator = new IntervalAccumulator();
  #detach: (() => void) | undefined;
  /** Where this interval began. */
  #mark: EngineStats | undefined;
  #now: EngineStats | undefined;

  constructor(engine: WatchedEngine) {
    this.#engine = engine;
  }

  /** The engine's index, as in the `engine` label. */
  get index(): number {
    return this.#engine.index;
  }

  /**
   * Reads where the engine stands now. That is the end of the interval that {@link take} takes.
   *
   * @throws whatever the engine throws; then nothing has changed.
   */
  read(): void {
    const now = this.#engine.readStats();
    // Counters and what is observed begin at the same moment, also where that is not the first attempt.
    this.#detach ??= this.#engine.attach(this.#accumulator);
    this.#mark ??= now;
    this.#now = now;
  }

  /** What the engine did up to the last reading that was not taken before; undefined where it was never read. */
  take(): EngineInterval | undefined {
    const [mark, now] = [this.#mark, this.#now];
    if (mark === undefined || now === undefined) return undefined;
    this.#mark = now;
    return intervalBetween(mark, now, this.#accumulator.drain());
  }

  /** Leaves the engine. */
  close(): void {
    this.#detach?.();
  }
}
