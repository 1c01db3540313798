import type { IntervalAccumulator } from '../../src/engine/interval-accumulator.ts';
import type {
  EngineStats,
  EngineWatcher,
  StatsSource,
  WatchedEngine,
} from '../../src/engine/stats-source.ts';
import { NOTHING_DONE } from './intervals.ts';

/** An engine whose numbers a test sets. */
export class BoardEngine implements WatchedEngine {
  readonly index: number;
  readonly accumulators: Set<IntervalAccumulator> = new Set();
  /** Whether it can't be read. */
  isBroken = false;
  #stats: EngineStats = NOTHING_DONE;

  constructor(index: number) {
    this.index = index;
  }

  /** Adds to counters. */
  count(added: Partial<EngineStats>): void {
    for (const [name, value] of Object.entries(added) as [keyof EngineStats, number][]) {
      this.#stats = { ...this.#stats, [name]: this.#stats[name] + value };
    }
  }

  /** Sets gauges, or counters to a value of their own. */
  set(values: Partial<EngineStats>): void {
    this.#stats = { ...this.#stats, ...values };
  }

  /** Lets all logs observe the same. */
  observe(observe: (accumulator: IntervalAccumulator) => void): void {
    for (const accumulator of this.accumulators) observe(accumulator);
  }

  readStats(): EngineStats {
    if (this.isBroken) throw new Error('no numbers');
    return this.#stats;
  }

  attach(accumulator: IntervalAccumulator): () => void {
    this.accumulators.add(accumulator);
    return () => this.accumulators.delete(accumulator);
  }
}

/** A source whose engines come and go as a test has them. */
export class EngineBoard implements StatsSource {
  readonly watchers: Set<EngineWatcher> = new Set();
  readonly #engines = new Map<number, BoardEngine>();

  constructor(...indices: readonly number[]) {
    for (const index of indices) this.engine(index);
  }

  /** The engine of an index, made where there is none. */
  engine(index: number): BoardEngine {
    const known = this.#engines.get(index);
    if (known !== undefined) return known;
    return this.addEngine(new BoardEngine(index));
  }

  addEngine(engine: BoardEngine): BoardEngine {
    this.#engines.set(engine.index, engine);
    for (const watcher of this.watchers) watcher.engineAdded(engine);
    return engine;
  }

  removeEngine(index: number): void {
    const engine = this.engine(index);
    this.#engines.delete(index);
    for (const watcher of this.watchers) watcher.engineRemoved(engine);
  }

  watchEngines(watcher: EngineWatcher): () => void {
    this.watchers.add(watcher);
    for (const engine of this.#engines.values()) watcher.engineAdded(engine);
    return () => this.watchers.delete(watcher);
  }
}
