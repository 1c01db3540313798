import { createNoopMeter, type Histogram, type Meter, type MeterProvider } from '@opentelemetry/api';
import { boundariesFor } from './boundaries.ts';
import { catalogue } from './catalogue/index.ts';
import type { Drops } from './drops.ts';
import { instrumentName, type HistogramMetric, type Metric } from './metric.ts';
import { SCOPE_NAME, SCOPE_VERSION } from './scope.ts';
import { numberObserverOf, type NumberObserver, type NumberSource } from './number-observer.ts';
import { CounterSeries } from './counter-series.ts';
import { GaugeSeries } from './gauge-series.ts';
import { HistogramSeries, type ExemplarSeries } from './histogram-series.ts';
import type { SeriesAttributes } from './series-attributes.ts';
import { seriesKey } from './shared-exemplars.ts';
import { SeriesGroup } from './series-group.ts';

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
  readonly #beforeCollection: () => void;
  readonly #numbers = new Map<string, Set<CounterSeries | GaugeSeries>>();
  readonly #histograms = new Map<string, Set<HistogramSeries>>();
  readonly #boundaries = new Map<string, readonly number[]>();
  #connection: Connection | undefined;

  /**
   * @param drops - Where provider errors are counted.
   * @param maxModelLen - Context length in tokens that sizes the advised token buckets.
   * @param beforeCollection - Called when a reader begins to collect. Must not throw.
   */
  constructor(drops: Drops, maxModelLen: number | undefined, beforeCollection: () => void = () => {}) {
    this.#drops = drops;
    this.#beforeCollection = beforeCollection;
    for (const metric of catalogue) {
      if (metric.kind === 'histogram') {
        this.#histograms.set(metric.name, new Set());
        this.#boundaries.set(metric.name, boundariesFor(metric, maxModelLen));
      } else this.#numbers.set(metric.name, new Set());
    }
  }

  /** Whether there is a provider, other than the API's no-op, to record into. */
  get connected(): boolean {
    return this.#connection !== undefined && this.#connection.meter !== createNoopMeter();
  }

  /** An empty group, whose series are added and dropped together. */
  group(): SeriesGroup {
    return new SeriesGroup(this);
  }

  /**
   * A new series of a counter; it exists at 0 from the next collection on.
   *
   * @throws TypeError where the catalogue has no such metric of this kind; so do the others.
   */
  counter(name: Metric['name'], attributes: SeriesAttributes): CounterSeries {
    return added(this.#numbers, name, new CounterSeries(attributes));
  }

  /** A new series of a gauge or info metric; it exists at 0 from the next collection on. */
  gauge(name: Metric['name'], attributes: SeriesAttributes): GaugeSeries {
    return added(this.#numbers, name, new GaugeSeries(attributes));
  }

  /** A new series of a histogram, connected to the current provider. */
  histogram(name: Metric['name'], attributes: SeriesAttributes): HistogramSeries {
    const exemplars: ExemplarSeries = {
      key: seriesKey(name, attributes),
      boundaries: this.#boundaries.get(name) ?? [],
    };
    const series = added(this.#histograms, name, new HistogramSeries(attributes, this.#drops, exemplars));
    series.connect(this.#connection?.histograms.get(name));
    return series;
  }

  /** Drops a series: it is in no further collection of a reader that asks for what is current. */
  drop(name: Metric['name'], series: Series): void {
    if (series instanceof HistogramSeries) {
      setOf(this.#histograms, name).delete(series);
      series.close();
    } else setOf(this.#numbers, name).delete(series);
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

  numbers(name: string): Iterable<CounterSeries | GaugeSeries> {
    return this.#numbers.get(name) ?? [];
  }

  #createHistograms(meter: Meter): ReadonlyMap<string, Histogram> {
    const histograms = catalogue.filter((metric) => metric.kind === 'histogram');
    return new Map(histograms.map((metric) => [metric.name, this.#createHistogram(meter, metric)]));
  }

  #createHistogram(meter: Meter, metric: HistogramMetric): Histogram {
    return meter.createHistogram(instrumentName(metric), {
      description: metric.description,
      advice: { explicitBucketBoundaries: [...(this.#boundaries.get(metric.name) ?? [])] },
    });
  }
}

/** A series of any kind. */
export type Series = CounterSeries | GaugeSeries | HistogramSeries;

function added<Kind extends Series>(
  sets: ReadonlyMap<string, Set<Series>>,
  name: string,
  series: Kind,
): Kind {
  setOf(sets, name).add(series);
  return series;
}

function setOf<T>(sets: ReadonlyMap<string, Set<T>>, name: string): Set<T> {
  const set = sets.get(name);
  if (set === undefined) throw new TypeError(`the catalogue has no such metric of this kind: ${name}`);
  return set;
}
