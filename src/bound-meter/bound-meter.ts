import { type BatchObservableCallback, type MetricOptions, type Observable } from '@opentelemetry/api';
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { warn } from '../metrics/warn.ts';
import { LAST_VALUE, SUM } from './aggregation.ts';
import type {
  BindableCounter,
  BindableGauge,
  BindableHistogram,
  BindableMeter,
  BindableUpDownCounter,
} from './bindable.ts';
import type { CallbackRegistry } from './callback-registry.ts';
import { histogramMetric, numberMetric, type MetricStream } from './collection.ts';
import { describeInstrument, type Descriptor } from './descriptor.ts';
import { ExplicitBuckets } from './explicit-buckets.ts';
import { MeasurementGate, type DropCounts } from './measurement-gate.ts';
import { ObservableStream } from './observable-stream.ts';
import type { InstrumentKind } from './sdk-constants.ts';
import { StreamRegistry } from './stream-registry.ts';
import { AddingInstrument, RecordingInstrument } from './sync-instruments.ts';
import { SyncStream } from './sync-stream.ts';
import { areBoundaries, type Views } from './view.ts';

/** What the meters of one provider share. */
export interface MeterHost {
  readonly views: Views;
  readonly cardinalityLimit: number;
  readonly callbacks: CallbackRegistry;
  readonly dropped: DropCounts;
  /** Whether histograms keep exemplars. */
  readonly exemplars: boolean;
}

/** What a new instrument is, its View applied. */
interface Resolved {
  readonly descriptor: Descriptor;
  readonly limit: number;
  readonly gate: MeasurementGate;
  readonly onOverflow: () => void;
  readonly exemplars: boolean;
}

/** The instruments of one instrumentation scope. */
export class BoundMeter implements BindableMeter {
  readonly #host: MeterHost;
  readonly #scope: ScopeMetrics['scope'];
  readonly #streams = new StreamRegistry();

  constructor(scope: ScopeMetrics['scope'], host: MeterHost) {
    this.#scope = scope;
    this.#host = host;
  }

  createCounter(name: string, options?: MetricOptions): BindableCounter {
    return new AddingInstrument(this.#numberStream(name, 'COUNTER', options));
  }

  createUpDownCounter(name: string, options?: MetricOptions): BindableUpDownCounter {
    return new AddingInstrument(this.#numberStream(name, 'UP_DOWN_COUNTER', options));
  }

  createGauge(name: string, options?: MetricOptions): BindableGauge {
    return new RecordingInstrument(this.#numberStream(name, 'GAUGE', options));
  }

  createHistogram(name: string, options?: MetricOptions): BindableHistogram {
    const aggregation = new ExplicitBuckets(this.#boundaries(name, options));
    const resolved = this.#resolve(name, 'HISTOGRAM', options, aggregation.boundaries);
    const create = () => new SyncStream({ ...resolved, aggregation, toMetric: histogramMetric });
    return new RecordingInstrument(this.#streams.resolve(resolved.descriptor, create));
  }

  createObservableCounter(name: string, options?: MetricOptions): Observable {
    return this.#observable(name, 'OBSERVABLE_COUNTER', options);
  }

  createObservableUpDownCounter(name: string, options?: MetricOptions): Observable {
    return this.#observable(name, 'OBSERVABLE_UP_DOWN_COUNTER', options);
  }

  createObservableGauge(name: string, options?: MetricOptions): Observable {
    return this.#observable(name, 'OBSERVABLE_GAUGE', options);
  }

  addBatchObservableCallback(callback: BatchObservableCallback, observables: Observable[]): void {
    this.#host.callbacks.addBatch(callback, observables);
  }

  removeBatchObservableCallback(callback: BatchObservableCallback, observables: Observable[]): void {
    this.#host.callbacks.removeBatch(callback, observables);
  }

  get scope(): ScopeMetrics['scope'] {
    return this.#scope;
  }

  get streams(): Iterable<MetricStream> {
    return this.#streams.all();
  }

  #numberStream(
    name: string,
    kind: 'COUNTER' | 'UP_DOWN_COUNTER' | 'GAUGE',
    options: MetricOptions | undefined,
  ): SyncStream<number> {
    const resolved = this.#resolve(name, kind, options);
    const aggregation = kind === 'GAUGE' ? LAST_VALUE : SUM;
    const create = () => new SyncStream({ ...resolved, aggregation, toMetric: numberMetric });
    return this.#streams.resolve(resolved.descriptor, create);
  }

  #observable(
    name: string,
    kind: 'OBSERVABLE_COUNTER' | 'OBSERVABLE_UP_DOWN_COUNTER' | 'OBSERVABLE_GAUGE',
    options: MetricOptions | undefined,
  ): Observable {
    const resolved = this.#resolve(name, kind, options);
    const stream = this.#streams.resolve(resolved.descriptor, () => new ObservableStream(resolved));
    return this.#host.callbacks.createObservable(stream);
  }

  #resolve(
    name: string,
    kind: InstrumentKind,
    options: MetricOptions | undefined,
    boundaries?: readonly number[],
  ): Resolved {
    const view = this.#host.views.of(name, this.#scope.name);
    if (view?.aggregation !== undefined && kind !== 'HISTOGRAM') {
      warn(`the view of ${name} has buckets, which an instrument of type ${kind} does not take: ignored`);
    }
    const descriptor = describeInstrument(name, kind, options, view?.name, boundaries);
    const limit = view?.aggregationCardinalityLimit ?? this.#host.cardinalityLimit;
    let isWarned = false;
    return {
      descriptor,
      limit,
      gate: new MeasurementGate(descriptor, this.#host.dropped),
      exemplars: this.#host.exemplars,
      onOverflow: () => {
        if (isWarned) return;
        isWarned = true;
        warn(`metric ${descriptor.name} has ${limit} series, its limit: others share otel.metric.overflow`);
      },
    };
  }

  /** A View's buckets come before advised ones ("Instrument advisory parameters" in the specification's metrics SDK). */
  #boundaries(name: string, options: MetricOptions | undefined): readonly number[] | undefined {
    const view = this.#host.views.of(name, this.#scope.name);
    if (view?.aggregation !== undefined) return view.aggregation.options.boundaries;
    const advised = options?.advice?.explicitBucketBoundaries;
    if (advised === undefined || areBoundaries(advised)) return advised;
    warn(`the boundaries advised for ${name} are no list of numbers: the default ones are used`);
    return undefined;
  }
}
