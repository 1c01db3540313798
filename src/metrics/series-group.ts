import type { CounterSeries } from './counter-series.ts';
import type { GaugeSeries } from './gauge-series.ts';
import type { HistogramSeries } from './histogram-series.ts';
import type { Metric } from './metric.ts';
import type { SeriesAttributes } from './series-attributes.ts';
import type { Series, SeriesStore } from './series-store.ts';

/** Series that are dropped together: those of one engine. */
export class SeriesGroup {
  readonly #store: SeriesStore;
  readonly #names = new Map<Series, Metric['name']>();

  constructor(store: SeriesStore) {
    this.#store = store;
  }

  /** As {@link SeriesStore.counter}. */
  counter(name: Metric['name'], attributes: SeriesAttributes): CounterSeries {
    return this.#keep(name, this.#store.counter(name, attributes));
  }

  /** As {@link SeriesStore.gauge}. */
  gauge(name: Metric['name'], attributes: SeriesAttributes): GaugeSeries {
    return this.#keep(name, this.#store.gauge(name, attributes));
  }

  /** As {@link SeriesStore.histogram}. */
  histogram(name: Metric['name'], attributes: SeriesAttributes): HistogramSeries {
    return this.#keep(name, this.#store.histogram(name, attributes));
  }

  /** Drops one series of the group. */
  drop(series: Series): void {
    const name = this.#names.get(series);
    if (name === undefined) return;
    this.#names.delete(series);
    this.#store.drop(name, series);
  }

  /** Drops all of them. */
  close(): void {
    for (const series of this.#names.keys()) this.drop(series);
  }

  #keep<Kind extends Series>(name: Metric['name'], series: Kind): Kind {
    this.#names.set(series, name);
    return series;
  }
}
