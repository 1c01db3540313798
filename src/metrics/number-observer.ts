import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchObservableResult, Meter, MeterProvider, Observable } from '@opentelemetry/api';
import { catalogue } from './catalogue/index.ts';
import { instrumentName, type Metric } from './metric.ts';
import type { SeriesAttributes } from './series-attributes.ts';
import { TimeSlice } from './time-slice.ts';

/** What one instrumentation shows of its counters and gauges. */
export interface NumberSource {
  /** Called when a reader begins to collect. Must not throw. */
  beforeCollection(): void;
  /** The series of a metric. */
  numbers(name: string): Iterable<{ readonly value: number; readonly attributes: SeriesAttributes }>;
}

interface ObservedMetric {
  readonly name: string;
  readonly kind: Metric['kind'];
  readonly observable: Observable;
}

/**
 * Shows the numbers of all instrumentations of one provider: the SDK takes the last of several observations with the
 * same attributes, so that two instrumentations of one model and engine, of two copies of this package say, would
 * hide each other. Here their counters add up; of their gauges the last one stands.
 */
export class NumberObserver {
  readonly #meter: Meter;
  readonly #metrics: readonly ObservedMetric[];
  readonly #sources = new Set<NumberSource>();
  readonly #callback = (result: BatchObservableResult): Promise<void> => this.#observe(result);
  #previous: Promise<void> = Promise.resolve();

  /** @throws whatever the meter throws. */
  constructor(meter: Meter) {
    this.#meter = meter;
    this.#metrics = catalogue
      .filter(({ kind }) => kind !== 'histogram')
      .map(({ name, kind, description }) => {
        const create = kind === 'counter' ? 'createObservableCounter' : 'createObservableGauge';
        return { name, kind, observable: meter[create](instrumentName({ name }), { description }) };
      });
  }

  /** @throws whatever the meter throws; the source is then not shown. */
  add(source: NumberSource): void {
    if (this.#sources.size === 0) this.#meter.addBatchObservableCallback(this.#callback, this.#observables);
    this.#sources.add(source);
  }

  /** @throws whatever the meter throws. */
  remove(source: NumberSource): void {
    if (!this.#sources.delete(source) || this.#sources.size > 0) return;
    this.#meter.removeBatchObservableCallback(this.#callback, this.#observables);
  }

  get #observables(): Observable[] {
    return this.#metrics.map(({ observable }) => observable);
  }

  /**
   * Observes for one collection, once those before have ended and the SDK has had the microtasks that it takes them over
   * in. Its readers share what was observed last: a counter that has less than that was reset for them, and adds its
   * whole value once more.
   */
  #observe(result: BatchObservableResult): Promise<void> {
    const observed = this.#previous.then(() => this.#observeAll(result));
    this.#previous = observed.then(turn, turn);
    return observed;
  }

  /** A thousand engines have a hundred thousand numbers: other work gets its turn between the metrics. */
  async #observeAll(result: BatchObservableResult): Promise<void> {
    for (const source of this.#sources) source.beforeCollection();
    const slice = new TimeSlice();
    for (const metric of this.#metrics) {
      if (slice.isOver) await slice.next();
      if (this.#sources.size > 1) this.#observeMerged(metric, result);
      else {
        for (const source of this.#sources) {
          for (const { value, attributes } of source.numbers(metric.name)) {
            result.observe(metric.observable, value, attributes);
          }
        }
      }
    }
  }

  #observeMerged({ name, kind, observable }: ObservedMetric, result: BatchObservableResult): void {
    const merged = new Map<string, { value: number; readonly attributes: SeriesAttributes }>();
    for (const source of this.#sources) {
      for (const { value, attributes } of source.numbers(name)) {
        const key = JSON.stringify(attributes);
        const known = merged.get(key);
        if (known === undefined) merged.set(key, { value, attributes });
        else known.value = kind === 'counter' ? known.value + value : value;
      }
    }
    for (const { value, attributes } of merged.values()) result.observe(observable, value, attributes);
  }
}

function turn(): Promise<void> {
  return nextTurn();
}

/** The observers of all providers, found from every copy of this package. */
const OBSERVERS = Symbol.for('opentelemetry-instrumentation-vllm: number observers by provider, version 1');

/**
 * The observer of a provider, the same for all instrumentations.
 *
 * @throws whatever the meter throws.
 */
export function numberObserverOf(provider: MeterProvider, meter: Meter): NumberObserver {
  const holder = globalThis as { [OBSERVERS]?: WeakMap<MeterProvider, NumberObserver> };
  const observers = (holder[OBSERVERS] ??= new WeakMap());
  const observer = observers.get(provider) ?? new NumberObserver(meter);
  observers.set(provider, observer);
  return observer;
}
