import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { requireOption } from '../metrics/require-option.ts';
import { warn } from '../metrics/warn.ts';
import { mergeIntervals, sawAnything, withoutGauges, type EngineInterval } from './engine-interval.ts';
import { IntervalReader } from './interval-reader.ts';
import { LineWriter } from './line-writer.ts';
import { statsLines } from './stats-lines.ts';
import {
  resolveStatsLoggerOptions,
  type ResolvedStatsLoggerOptions,
  type StatsLoggerOptions,
} from './stats-logger-options.ts';
import type { StatsSource, WatchedEngine } from '../engine/stats-source.ts';

/** Stands for all engines where lines are not per engine. */
const ALL_ENGINES = -1;

/**
 * Prints, every so often, what the engines did, as vLLM's frontends do: throughput, queues, caches, and, where there
 * is something to tell, speculative decoding, model FLOPs utilization, CUDA graphs and NIXL transfers.
 *
 * - Rates are over the measured time since the last lines; a tick that comes late is not made up for.
 * - Lines go to `debug` while neither this interval nor the one before had any throughput, else to `info`: when load
 *   stops, one last line at `info` says so.
 * - An engine that comes or goes in between counts with what it did; its running and waiting requests and its KV
 *   usage only while it is there.
 * - Any number of logs may read one source; none takes from another.
 * - The timer keeps no process alive. Nothing is ever thrown into the service: a logger, clock or engine that fails is
 *   reported once through `diag`, and what it failed on is skipped.
 */
export class StatsLogger {
  readonly #options: ResolvedStatsLoggerOptions;
  readonly #writer: LineWriter;
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: () => void;
  readonly #readers = new Map<WatchedEngine, IntervalReader>();
  readonly #reported = new Set<string>();
  /** What engines that have gone since did in this interval, by index. */
  #departed = new Map<number, EngineInterval>();
  /** Whose last lines had throughput. */
  #active: ReadonlySet<number> = new Set();
  #since: number;
  #printing = false;
  #stopped = false;

  /**
   * Begins at once; the first lines come after one interval.
   *
   * @param source - A `VllmInstrumentation`.
   * @throws TypeError when an option is not what it may be.
   */
  constructor(source: StatsSource, options: StatsLoggerOptions) {
    this.#options = resolveStatsLoggerOptions(options);
    requireOption(
      'source',
      'a VllmInstrumentation, or another object with watchEngines()',
      source,
      typeof (source as Partial<StatsSource> | null | undefined)?.watchEngines === 'function',
    );
    this.#writer = new LineWriter(this.#options.logger, (error) =>
      this.#report('logger', 'the logger failed', error),
    );
    this.#since = this.#now();
    this.#unwatch = source.watchEngines({
      engineAdded: (engine) => this.#add(engine),
      engineRemoved: (engine) => this.#remove(engine),
    });
    // Lines belong to no request, whichever it was that made this log.
    this.#timer = context.with(ROOT_CONTEXT, () =>
      setInterval(() => this.#print('always'), this.#options.intervalMillis),
    );
    this.#timer.unref();
  }

  /** Prints now what happened since the last lines; the timer goes on as it would. */
  log(): void {
    if (!this.#stopped) this.#print('always');
  }

  /** Prints what happened since the last lines, if anything did, and nothing from then on. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#print('if anything was seen');
    try {
      this.#unwatch();
      for (const reader of this.#readers.values()) reader.close();
    } catch (error) {
      this.#report('engine', 'an engine could not be left', error);
    }
    this.#readers.clear();
  }

  #add(engine: WatchedEngine): void {
    try {
      if (!this.#readers.has(engine)) this.#readers.set(engine, new IntervalReader(engine));
    } catch (error) {
      this.#reportEngine(error);
    }
  }

  #remove(engine: WatchedEngine): void {
    const reader = this.#readers.get(engine);
    if (reader === undefined) return;
    this.#readers.delete(engine);
    try {
      gather(this.#departed, engine.index, withoutGauges(reader.take()));
      reader.close();
    } catch (error) {
      this.#reportEngine(error);
    }
  }

  #print(when: 'always' | 'if anything was seen'): void {
    // A logger may call back.
    if (this.#printing) return;
    this.#printing = true;
    try {
      const elapsedSeconds = this.#takeElapsed(when);
      if (elapsedSeconds !== undefined) this.#printIntervals(this.#takeIntervals(), elapsedSeconds, when);
    } catch (error) {
      this.#report('lines', 'lines could not be made', error);
    } finally {
      this.#printing = false;
    }
  }

  #printIntervals(
    byIndex: ReadonlyMap<number, EngineInterval>,
    elapsedSeconds: number,
    when: 'always' | 'if anything was seen',
  ): void {
    const { perEngine, style } = this.#options;
    const intervals: (readonly [number, EngineInterval])[] = perEngine
      ? [...byIndex].sort(([a], [b]) => a - b)
      : [[ALL_ENGINES, mergeIntervals(byIndex.values(), byIndex.size)]];
    const active = new Set<number>();
    for (const [index, interval] of intervals) {
      const hasThroughput = interval.promptTokens > 0 || interval.generationTokens > 0;
      if (hasThroughput) active.add(index);
      const departed = perEngine && interval.kvCacheUsage === undefined;
      if ((departed || when !== 'always') && !sawAnything(interval)) continue;
      const level = hasThroughput || this.#active.has(index) ? 'info' : 'debug';
      const engine = perEngine ? index : undefined;
      for (const line of statsLines(interval, { style, level, elapsedSeconds, engine }))
        this.#writer.write(line);
    }
    this.#active = active;
  }

  /** What each engine did since the last time, by index; of those that came back under their index, both. */
  #takeIntervals(): ReadonlyMap<number, EngineInterval> {
    const byIndex = this.#departed;
    this.#departed = new Map();
    for (const [engine, reader] of this.#readers) {
      try {
        gather(byIndex, engine.index, reader.take());
      } catch (error) {
        this.#reportEngine(error);
      }
    }
    return byIndex;
  }

  /** The time since the last lines; undefined where that can't be told, and so no rate. */
  #takeElapsed(when: 'always' | 'if anything was seen'): number | undefined {
    const now = this.#now();
    const elapsed = now - this.#since;
    if (elapsed > 0) {
      this.#since = now;
      return elapsed;
    }
    // Where no time has passed, or the clock tells none, the interval goes on. Stopping right after a line is no fault.
    if (elapsed === 0 && when !== 'always') return undefined;
    this.#report('clock', 'the monotonic clock does not go forward', `${this.#since} s, then ${now} s`);
    if (elapsed === 0 || Number.isNaN(now)) return undefined;
    // A clock that went back does not tell how long the interval was: it gets no line, and the next one begins.
    this.#takeIntervals();
    this.#since = now;
    return undefined;
  }

  /** NaN where the clock can't tell. */
  #now(): number {
    try {
      const now = this.#options.clock.monotonicSeconds();
      return Number.isFinite(now) ? now : Number.NaN;
    } catch {
      return Number.NaN;
    }
  }

  #reportEngine(error: unknown): void {
    this.#report('engine', 'an engine could not be read', error);
  }

  #report(key: string, what: string, detail: unknown): void {
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    warn(`stats log: ${what}: ${describe(detail)} (said once)`);
  }
}

function gather(byIndex: Map<number, EngineInterval>, index: number, interval: EngineInterval): void {
  const known = byIndex.get(index);
  byIndex.set(index, known === undefined ? interval : mergeIntervals([known, interval], 1));
}

/** A report is a line: what failed may say anything, of any length. */
const MAX_LENGTH = 2000;

/** Some values can't be made a string: one without a prototype, one whose `toString` throws. */
function describe(detail: unknown): string {
  try {
    return String(detail instanceof Error ? detail.message : detail).slice(0, MAX_LENGTH);
  } catch {
    return typeof detail;
  }
}
