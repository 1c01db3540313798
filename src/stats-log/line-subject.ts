import type { WatchedEngine } from '../engine/stats-source.ts';
import { mergeIntervals, withoutGauges, type EngineInterval } from './engine-interval.ts';
import { IntervalReader } from './interval-reader.ts';
import type { WritableLine } from './stats-line.ts';

/** What a line is to tell. */
export interface SubjectInterval {
  readonly interval: EngineInterval;
  /** Above 0; NaN where the clock could not tell. */
  readonly elapsedSeconds: number;
  /** `debug` where neither this interval nor the one before had throughput. */
  readonly level: WritableLine['level'];
}

/**
 * What lines are on, the engines of one index or all of them, from line to line. What was done and the time it took are
 * taken together or not at all, so that a rate is never that of another time.
 */
export class LineSubject {
  readonly #onFailure: (error: unknown) => void;
  readonly #readers = new Map<WatchedEngine, IntervalReader>();
  /** What engines that have gone since did in this interval. */
  #departed: EngineInterval | undefined;
  #departedIndices = new Set<number>();
  #elapsedSeconds = 0;
  /** Whether the last interval had throughput. */
  #active = false;

  /** @param onFailure - Told of each engine that can't be read. Must not throw. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Whether no engine is there any more. */
  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** Lets so much time of the interval pass. */
  elapse(seconds: number): void {
    this.#elapsedSeconds += seconds;
  }

  /** An engine that can't be read at first is tried again with each line. */
  add(engine: WatchedEngine): void {
    if (this.#readers.has(engine)) return;
    const reader = new IntervalReader(engine);
    this.#readers.set(engine, reader);
    this.#read(reader);
  }

  remove(engine: WatchedEngine): void {
    const reader = this.#readers.get(engine);
    if (reader === undefined) return;
    this.#readers.delete(engine);
    this.#read(reader);
    const last = reader.take();
    this.#close(reader);
    if (last === undefined) return;
    this.#departedIndices.add(reader.index);
    const gone = withoutGauges(last);
    this.#departed =
      this.#departed === undefined
        ? gone
        : mergeIntervals([this.#departed, gone], this.#departedIndices.size);
  }

  /**
   * What was done since the last time.
   *
   * @param isLast - Whether to go without engines that can't be read: there is no later time.
   * @returns Undefined where an engine can't be read; then the interval goes on.
   */
  take(isLast: boolean): SubjectInterval | undefined {
    for (const reader of this.#readers.values()) if (!this.#read(reader) && !isLast) return undefined;
    const elapsedSeconds = this.#elapsedSeconds > 0 ? this.#elapsedSeconds : Number.NaN;
    this.#elapsedSeconds = 0;
    const interval = this.#takeInterval();
    const wasActive = this.#active;
    this.#active = interval.promptTokens > 0 || interval.generationTokens > 0;
    return { interval, elapsedSeconds, level: this.#active || wasActive ? 'info' : 'debug' };
  }

  /** Leaves all engines. */
  close(): void {
    for (const reader of this.#readers.values()) this.#close(reader);
    this.#readers.clear();
  }

  #takeInterval(): EngineInterval {
    const departed = this.#departed;
    const intervals: EngineInterval[] = departed === undefined ? [] : [departed];
    for (const reader of this.#readers.values()) {
      const interval = reader.take();
      if (interval !== undefined) intervals.push(interval);
    }
    const [only] = intervals;
    if (departed === undefined && intervals.length === 1 && only !== undefined) return only;
    const indices = this.#departedIndices;
    for (const { index } of this.#readers.values()) indices.add(index);
    this.#departed = undefined;
    this.#departedIndices = new Set();
    return mergeIntervals(intervals, indices.size);
  }

  #read(reader: IntervalReader): boolean {
    try {
      reader.read();
      return true;
    } catch (error) {
      this.#onFailure(error);
      return false;
    }
  }

  #close(reader: IntervalReader): void {
    try {
      reader.close();
    } catch (error) {
      this.#onFailure(error);
    }
  }
}
