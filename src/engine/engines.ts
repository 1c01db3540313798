import type { Drops } from '../metrics/drops.ts';
import { Engine } from './engine.ts';
import type { EngineSettings } from './engine-settings.ts';
import type { EngineWatcher, StatsSource } from './stats-source.ts';

/** The largest engine index: the engine's identity on the wire has two bytes. */
const MAX_ENGINE_INDEX = 65_535;

/** Bounds what messages with made-up indices can cost. */
const MAX_ENGINES = 4096;

/** The engines of one instrumentation by their indices, which may be sparse. They come and go at run time. */
export class Engines implements StatsSource {
  readonly #settings: EngineSettings;
  readonly #byIndex = new Map<number, Engine>();
  // Trailing messages must not bring an engine back that was removed: its series would be there for ever, at zero.
  readonly #removed = new Set<number>();
  readonly #watchers = new Set<EngineWatcher>();

  constructor(settings: EngineSettings) {
    this.#settings = settings;
  }

  get size(): number {
    return this.#byIndex.size;
  }

  /** Ascending. */
  get indices(): readonly number[] {
    return [...this.#byIndex.keys()].toSorted((a, b) => a - b);
  }

  all(): Iterable<Engine> {
    return this.#byIndex.values();
  }

  /**
   * The engine of this index, made at the first call, and anew where it had been removed.
   *
   * @throws TypeError when `index` is none, or there are too many engines.
   */
  require(index: number): Engine {
    const engine = this.#find(index);
    if (engine === undefined) {
      throw new TypeError(
        `engine index must be a whole number from 0 to ${MAX_ENGINE_INDEX}, for at most ${MAX_ENGINES} engines; got ${String(index)}`,
      );
    }
    this.#removed.delete(index);
    return engine;
  }

  /** The engine that a message names; undefined, and counted, where it was removed or can't be one. */
  heardOf(index: number): Engine | undefined {
    const known = this.#byIndex.get(index);
    if (known !== undefined) return known;
    const { drops } = this.#settings;
    if (this.#removed.has(index)) {
      drops.count('removedEngine', index);
      return undefined;
    }
    const engine = this.#find(index);
    if (engine === undefined) drops.count('invalidEngineIndex', index);
    return engine;
  }

  /**
   * Fails the requests of an engine that has died.
   *
   * @param index - Undefined for all engines, where the message does not say which it was.
   */
  endOfDead(index: number | undefined, receivedAt: number): void {
    if (!this.#settings.enabled) return;
    if (index !== undefined && !isEngineIndex(index)) this.#settings.drops.count('invalidEngineIndex', index);
    for (const engine of this.all()) {
      if (index === undefined || engine.index === index) engine.endAll('error', receivedAt);
    }
  }

  /** @returns Whether there was an engine of this index. */
  remove(index: number): boolean {
    const engine = this.#byIndex.get(index);
    if (engine === undefined) return false;
    engine.endAll('abort');
    // Whoever learned of a request's end may have removed it.
    if (this.#byIndex.get(index) !== engine) return true;
    this.#byIndex.delete(index);
    this.#removed.add(index);
    this.#tellAll('engineRemoved', engine);
    engine.close();
    return true;
  }

  watchEngines(watcher: EngineWatcher): () => void {
    this.#watchers.add(watcher);
    for (const engine of Array.from(this.all())) tell(this.#settings.drops, watcher, 'engineAdded', engine);
    return () => this.#watchers.delete(watcher);
  }

  #find(index: number): Engine | undefined {
    const known = this.#byIndex.get(index);
    if (known !== undefined) return known;
    if (!isEngineIndex(index) || this.#byIndex.size >= MAX_ENGINES) return undefined;
    const engine = new Engine(index, this.#settings);
    this.#byIndex.set(index, engine);
    this.#tellAll('engineAdded', engine);
    return engine;
  }

  #tellAll(event: keyof EngineWatcher, engine: Engine): void {
    // A copy: one that begins to watch meanwhile has been told of every engine already.
    for (const watcher of Array.from(this.#watchers)) tell(this.#settings.drops, watcher, event, engine);
  }
}

function isEngineIndex(index: number): boolean {
  return Number.isInteger(index) && index >= 0 && index <= MAX_ENGINE_INDEX;
}

/** A watcher that fails costs neither the service nor another watcher anything. */
function tell(drops: Drops, watcher: EngineWatcher, event: keyof EngineWatcher, engine: Engine): void {
  try {
    watcher[event](engine);
  } catch (error) {
    drops.count('providerError', error, 'a watcher of engines');
  }
}
