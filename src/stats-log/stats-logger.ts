import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { messageOf } from '../metrics/message-of.ts';
import { requireOption } from '../metrics/require-option.ts';
import { warn } from '../metrics/warn.ts';
import { sawAnything } from './engine-interval.ts';
import { LineSubject } from './line-subject.ts';
import { LineWriter } from './line-writer.ts';
import type { WritableLine } from './stats-line.ts';
import { statsLines } from './stats-lines.ts';
import {
  resolveStatsLoggerOptions,
  type ResolvedStatsLoggerOptions,
  type StatsLoggerOptions,
} from './stats-logger-options.ts';
import type { StatsSource } from '../engine/stats-source.ts';

/** Stands for all engines where lines are not per engine. */
const ALL_ENGINES = -1;

/**
 * Prints, every so often, what the engines did, as vLLM's frontends do: throughput, queues, caches, and, where there
 * is something to tell, speculative decoding, model FLOPs utilization, CUDA graphs and NIXL transfers.
 *
 * - Rates are over the measured time since the last lines; a tick that comes late is not made up for. Where the clock
 *   can't tell that time, rates read `nan`.
 * - Lines go to `debug` while neither this interval nor the one before had any throughput, else to `info`: when load
 *   stops, one last line at `info` says so.
 * - An engine that comes or goes in between counts with what it did; its running and waiting requests and its KV
 *   usage only while it is there.
 * - Any number of logs may read one source; none takes from another.
 * - The timer keeps no process alive. Nothing is ever thrown into the service: a logger, clock or engine that fails is
 *   reported once through `diag`. A line that can't be made for it waits, and its interval goes on: nothing is lost.
 */
export class StatsLogger {
  readonly #options: ResolvedStatsLoggerOptions;
  readonly #writer: LineWriter;
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: () => void;
  /** By index, or one for {@link ALL_ENGINES}. */
  readonly #subjects = new Map<number, LineSubject>();
  /** Lines that are made and not yet written. */
  readonly #lines: WritableLine[] = [];
  readonly #reported = new Set<string>();
  /** When the clock was read last; NaN where it never could be. */
  #readAt: number;
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
    this.#writer = new LineWriter(this.#options.logger, (error) => this.#report('the logger failed', error));
    this.#readAt = this.#readClock();
    if (!this.#options.perEngine) this.#subject(ALL_ENGINES);
    this.#unwatch = source.watchEngines({
      engineAdded: (engine) => this.#subject(engine.index).add(engine),
      engineRemoved: (engine) => this.#subject(engine.index).remove(engine),
    });
    // Lines belong to no request, whichever it was that made this log.
    this.#timer = context.with(ROOT_CONTEXT, () =>
      setInterval(() => this.log(), this.#options.intervalMillis),
    );
    // Timers of browsers, and some that stand in for timers in tests, are numbers.
    (this.#timer as Partial<NodeJS.Timeout>).unref?.();
  }

  /**
   * Prints now what happened since the last lines; the timer goes on as it would. Does nothing where the logger calls it
   * in the middle of lines.
   */
  log(): void {
    if (!this.#stopped && !this.#printing) this.#print(false);
  }

  /**
   * Prints what happened since the last lines, if anything did, and nothing from then on. Where the logger calls it in
   * the middle of lines, the rest of these comes first, and what it returns to prints no more.
   */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#print(true);
    try {
      this.#unwatch();
    } catch (error) {
      this.#report('the engines could not be left', error);
    }
    for (const subject of this.#subjects.values()) subject.close();
    this.#subjects.clear();
  }

  /** What the lines on this engine are on, made where there is none. */
  #subject(engine: number): LineSubject {
    const index = this.#options.perEngine ? engine : ALL_ENGINES;
    const known = this.#subjects.get(index);
    if (known !== undefined) return known;
    const subject = new LineSubject((error) => this.#report('an engine could not be read', error));
    this.#subjects.set(index, subject);
    return subject;
  }

  #print(isLast: boolean): void {
    this.#printing = true;
    try {
      const passed = this.#passedSeconds(isLast);
      if (passed === undefined) return;
      const subjects = [...this.#subjects].sort(([a], [b]) => a - b);
      for (const [, subject] of subjects) subject.elapse(passed);
      this.#writeLines();
      for (const [index, subject] of subjects) {
        // The logger stopped this log, and with that printed the rest.
        if (this.#stopped && !isLast) return;
        this.#printSubject(index, subject, isLast);
      }
    } catch (error) {
      this.#report('lines could not be made', error);
    } finally {
      this.#printing = false;
    }
  }

  #printSubject(index: number, subject: LineSubject, isLast: boolean): void {
    const { perEngine, style } = this.#options;
    const taken = subject.take(isLast);
    if (taken === undefined) return;
    const { interval, elapsedSeconds, level } = taken;
    const hasGone = perEngine && subject.isEmpty;
    if (hasGone) this.#subjects.delete(index);
    if ((hasGone || isLast) && !sawAnything(interval)) return;
    const engine = perEngine ? index : undefined;
    this.#lines.push(...statsLines(interval, { style, level, elapsedSeconds, engine }));
    this.#writeLines();
  }

  /** A logger that stops the log writes from in here what is left. */
  #writeLines(): void {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      this.#writer.write(line);
    }
  }

  /** The time since the last call, NaN where it can't be told; undefined where the interval is to go on. */
  #passedSeconds(isLast: boolean): number | undefined {
    const before = this.#readAt;
    const now = this.#readClock();
    if (Number.isNaN(now)) return isLast ? Number.NaN : undefined;
    if (now === before) {
      // Stopping right after a line is no fault.
      if (isLast) return 0;
      this.#report('the monotonic clock stands still', `${before} s, then ${now} s`);
      return undefined;
    }
    this.#readAt = now;
    if (now < before) this.#report('the monotonic clock went back', `${before} s, then ${now} s`);
    return now > before ? now - before : Number.NaN;
  }

  /** NaN where the clock can't tell. */
  #readClock(): number {
    try {
      const now = this.#options.clock.monotonicSeconds();
      if (Number.isFinite(now)) return now;
      this.#report('the monotonic clock tells no time', now);
    } catch (error) {
      this.#report('the monotonic clock tells no time', error);
    }
    return Number.NaN;
  }

  #report(what: string, detail: unknown): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    warn(`stats log: ${what}: ${messageOf(detail).slice(0, MAX_LENGTH)} (said once)`);
  }
}

/** A report is a line: what failed may say anything, of any length. */
const MAX_LENGTH = 2000;
