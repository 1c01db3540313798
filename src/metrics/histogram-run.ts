import { ROOT_CONTEXT, type Context } from '@opentelemetry/api';
import type { HistogramSeries } from './histogram-series.ts';

/**
 * Gathers equal values that come one after the other, as the latencies of one engine step do, and records each such run
 * at once.
 */
export class HistogramRun {
  readonly #series: HistogramSeries;
  #value = Number.NaN;
  #context: Context = ROOT_CONTEXT;
  #length = 0;

  constructor(series: HistogramSeries) {
    this.#series = series;
  }

  /** Records one value, with the next {@link flush} at the latest. Allocates nothing. */
  record(value: number, context: Context): void {
    if (value !== this.#value || context !== this.#context) {
      this.flush();
      this.#value = value;
      this.#context = context;
    }
    this.#length += 1;
  }

  /** Records what has been gathered. */
  flush(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#length = 0;
    this.#series.recordMany(this.#value, length, this.#context);
    // Nothing is held on to.
    this.#context = ROOT_CONTEXT;
  }
}
