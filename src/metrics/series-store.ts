import { createNoopMeter, type Histogram, type Meter, type MeterProvider } from '@opentelemetry/api';
import { boundariesFor } from './boundaries.ts';
import { catalogue } from './catalogue/index.ts';
import type { Drops } from './drops.ts';
import { instrumentName, type HistogramMetric, type Metric } from './metric.ts';
import { SCOPE_NAME, SCOPE_VERSION } from './scope.ts';
import { numberObserverOf, type NumberObserver, type NumberSource } from './number-observer.ts';
import { HistogramSeries, NumberSeries, type SeriesAttributes } from './series.ts';

/** The instruments of one provider, and the way back out of it. */
interface Connection {
  readonly meter: Meter;
  readonly histograms: ReadonlyMap<string, Histogram>;
  readonly observer: NumberObserver;
}

/**
 * Every series of one instrumentation, and the instruments it is read through. Series outlive providers: the
 * numbers of counters and gauges stay, and each provider that arrives gets instruments of its own.
 */
export class SeriesStore implements NumberSource {
  readonly #drops: Drops;
  readonly #maxModelLen: number | undefined;
  readonly #beforeCollection: () => void;
  readonly #numbers = new Map<string, Set<NumberSeries>>();
  readonly #histograms = new Map<string, Set<HistogramSeries>>();
  #connection: Connection | undefined;

  /**
   * @param drops - Where provider errors are counted.
   * @param maxModelLen - Context length in tokens that sizes the advised token buckets.
   * @param beforeCollection - Called when a reader begins to collect. Must not throw.
   */
  constructor(drops: Drops, maxModelLen: number | undefined, beforeCollection: () => void = () => {}) {
    this.#drops = drops;
    this.#maxModelLen = maxModelLen;
    this.#beforeCollection = beforeCollection;
    for (const { name, kind } of catalogue) {
      if (kind === 'histogram') this.#histograms.set(name, new Set());
      else this.#numbers.set(name, new Set());
    }
  }

  /** Whether there is a provider, other than the API's no-op, to record into. */
  get connected(): boolean {
    return this.#connection !== undefined && this.#connection.meter !== createNoopMeter();
  }

  /** A new series of the counter, gauge or info metric `name`; it exists at 0 from the next collection on. */
  number(name: Metric['name'], attributes: SeriesAttributes): NumberSeries {
    const series = new NumberSeries(attributes);
    setOf(this.#numbers, name).add(series);
    return series;
  }

  /** A new series of the histogram `name`, connected to the current provider. */
  histogram(name: Metric['name'], attributes: SeriesAttributes): HistogramSeries {
    const series = new HistogramSeries(attributes, this.#drops);
    setOf(this.#histograms, name).add(series);
    series.connect(this.#connection?.histograms.get(name));
    return series;
  }

  /** Records and shows through `provider` from now on; whatever was connected before is left. Never throws. */
  connect(provider: MeterProvider): void {
    this.disconnect();
    try {
      const meter = provider.getMeter(SCOPE_NAME, SCOPE_VERSION);
      const histograms = this.#createHistograms(meter);
      const observer = numberObserverOf(provider, meter);
      this.#connection = { meter, histograms, observer };
      for (const [name, instrument] of histograms) {
        for (const series of setOf(this.#histograms, name)) series.connect(instrument);
      }
      observer.add(this);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  /** Records nowhere from now on. Never throws. */
  disconnect(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    for (const set of this.#histograms.values()) for (const series of set) series.connect(undefined);
    try {
      connection.observer.remove(this);
    } catch (error) {
      this.#drops.count('providerError', error);
    }
  }

  beforeCollection(): void {
    this.#beforeCollection();
  }

  numbers(name: string): Iterable<NumberSeries> {
    return this.#numbers.get(name) ?? [];
  }

  #createHistograms(meter: Meter): ReadonlyMap<string, Histogram> {
    const histograms = catalogue.filter((metric) => metric.kind === 'histogram');
    return new Map(histograms.map((metric) => [metric.name, this.#createHistogram(meter, metric)]));
  }

  #createHistogram(meter: Meter, metric: HistogramMetric): Histogram {
    return meter.createHistogram(instrumentName(metric), {
      description: metric.description,
      advice: { explicitBucketBoundaries: [...boundariesFor(metric, this.#maxModelLen)] },
    });
  }
}

function setOf<T>(sets: ReadonlyMap<string, Set<T>>, name: string): Set<T> {
  const set = sets.get(name);
  if (set === undefined) throw new TypeError(`the catalogue has no such metric of this kind: ${name}`);
  return set;
}
