import type { MeterOptions, MeterProvider } from '@opentelemetry/api';
import type { MetricProducer, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { requireOption } from '../metrics/require-option.ts';
import { warn } from '../metrics/warn.ts';
import type { BindableMeter } from './bindable.ts';
import { BoundMeter, type MeterHost } from './bound-meter.ts';
import { BoundMetricProducer } from './bound-metric-producer.ts';
import { CallbackRegistry } from './callback-registry.ts';
import type { DropCounts } from './measurement-gate.ts';
import { resolveTemporality, type ProducerTemporality } from './temporality.ts';
import { requireLimit, Views, type BoundView } from './view.ts';

/** Options of {@link BoundMeterProvider}. A value that is not valid throws a `TypeError` that names the option. */
export interface BoundMeterProviderOptions {
  /** Views, at most one per instrument: `vllmViews()` say. Default none. */
  readonly views?: readonly BoundView[] | undefined;
  /**
   * How many series each metric may have beside the overflow series, over the life of the process: a series holds its
   * place until `unbind`, one of an observable instrument until it is not observed any more. What does not fit is
   * recorded into the series `otel.metric.overflow=true` of its metric. A View's `aggregationCardinalityLimit` comes
   * first. Default 2000, as the specification has it ("Cardinality limits" in the metrics SDK).
   */
  readonly cardinalityLimit?: number | undefined;
  /**
   * How long a collection waits for asynchronous callbacks of observable instruments, in milliseconds; the reader's own
   * limit counts where it is smaller. A callback that takes longer costs its metrics, and is not called again until it has
   * ended. Default 5000: half of Prometheus' default scrape timeout.
   */
  readonly callbackTimeoutMillis?: number | undefined;
  /**
   * Whether histograms keep, for each bucket of a series, the last measurement made in a sampled span, from the Context of
   * the record call (none where it is left out). Costs nothing where there is no such span, and at most about 250 bytes for each
   * bucket. `VllmPrometheusExporter` writes them; OpenTelemetry's own exporters know none. Default true.
   */
  readonly exemplars?: boolean | undefined;
}

/** Options of {@link BoundMeterProvider.producer}. */
export interface BoundProducerOptions {
  /** What values are counted from. Default `cumulative`. */
  readonly temporality?: ProducerTemporality | undefined;
}

/** The longest delay of a Node.js timer: a longer one fires at once. */
const MAX_MILLIS = 2 ** 31 - 1;

/**
 * A MeterProvider of the OpenTelemetry API whose synchronous instruments can be bound: `bind(attributes)` looks the
 * series up once, and recording through what it returns neither allocates nor looks anything up. Everything else is as
 * instrumentations know it, so that it can be handed to any: `registerInstrumentations({ meterProvider })`.
 *
 * It is read through the readers of OpenTelemetry's SDK, each with a producer of its own, which holds what that reader has
 * not seen yet. Flushing, shutting down and the resource are the readers' and their SDK provider's:
 *
 * ```ts
 * const bound = new BoundMeterProvider({ views: vllmViews() });
 * const reader = new PeriodicExportingMetricReader({ exporter, metricProducers: [bound.producer()] });
 * const sdk = new MeterProvider({ resource, readers: [reader] });
 * vllm.setMeterProvider(bound);
 * ```
 *
 * Rules are the specification's (metrics API and SDK: Bind, Views, cardinality limits, start timestamps, duplicate
 * registration, MetricProducer), and where it leaves room, those of OpenTelemetry's JavaScript SDK, from which it departs so:
 *
 * - Cardinality is limited over the life of the process, not anew with each collection, and so many series fit as the
 *   limit says, where the SDK's overflow takes the place of one.
 * - A bound series is reported from the moment it is bound, at zero; a series can be dropped.
 * - A series of an observable instrument that its callbacks no longer observe is no longer reported; the SDK repeats its last
 *   value to cumulative readers for ever ("Observations inside asynchronous callbacks" says not to).
 * - Measurements that are not finite are dropped, as negative ones of counters and histograms are; the SDK adds infinities up,
 *   and NaN where it is no histogram's, and counts a negative observation as 0. `dropped` counts them.
 * - Attributes are copied, so that changing the object later does not change what was recorded; values the SDK cannot hash
 *   (bigints, cyclic objects) do not throw, and attributes that are no object or have an accessor that throws are none.
 * - All delta points of a metric begin at the last collection; the SDK has a new series begin at its first measurement.
 * - Instrument names that differ in case alone are the same instrument, under the first name.
 * - At most one View may select an instrument, its name selects in upper and lower case, and its buckets are for
 *   histograms alone: the SDK makes a histogram of a counter as well.
 *
 * Histograms keep exemplars, which the SDK does not: of each bucket the last measurement in a sampled span (the
 * specification's filter `TraceBased`). They are in the property `exemplars` of the data points, a `BucketExemplars`.
 *
 * Not supported: exponential histograms, attribute processors, and all else of `ViewOptions` that {@link BoundView} does not
 * have.
 */
export class BoundMeterProvider implements MeterProvider {
  readonly #host: MeterHost;
  readonly #callbackTimeoutMillis: number;
  readonly #dropped: DropCounts = { negative: 0, notFinite: 0, notNumber: 0 };
  readonly #meters = new Map<string, BoundMeter>();
  #producers = 0;

  /** @throws TypeError naming an option that is not valid. */
  constructor(options: BoundMeterProviderOptions = {}) {
    const { views = [], cardinalityLimit = 2000, callbackTimeoutMillis = 5000, exemplars = true } = options;
    requireLimit('cardinalityLimit', cardinalityLimit);
    requireOption(
      'callbackTimeoutMillis',
      `a number of milliseconds above 0 and up to ${MAX_MILLIS}`,
      callbackTimeoutMillis,
      typeof callbackTimeoutMillis === 'number' &&
        callbackTimeoutMillis > 0 &&
        callbackTimeoutMillis <= MAX_MILLIS,
    );
    requireOption('exemplars', 'true or false', exemplars, typeof exemplars === 'boolean');
    this.#callbackTimeoutMillis = callbackTimeoutMillis;
    this.#host = {
      views: new Views(views),
      cardinalityLimit,
      callbacks: new CallbackRegistry(),
      dropped: this.#dropped,
      exemplars,
    };
  }

  /** How many measurements of all instruments were dropped so far, by reason. */
  get dropped(): Readonly<DropCounts> {
    return { ...this.#dropped };
  }

  /**
   * The meter of an instrumentation scope, the same for the same name, version and schema.
   *
   * @param name - Warned of where it is no text or empty, and kept as the empty name, as the SDK does.
   */
  getMeter(name: string, version = '', options: MeterOptions = {}): BindableMeter {
    const isValid = typeof name === 'string' && name !== '';
    if (!isValid) warn('a meter was asked for without a name');
    const scope = scopeOf(isValid ? name : '', version, options.schemaUrl);
    const key = JSON.stringify(Object.values(scope));
    let meter = this.#meters.get(key);
    if (meter === undefined) this.#meters.set(key, (meter = new BoundMeter(scope, this.#host)));
    return meter;
  }

  /**
   * What one reader reads this provider through: goes into its `metricProducers`. Make one per reader, and as many as
   * there are readers for the life of the provider: one with deltas holds, from its first collection on, what it has not
   * reported yet, a few numbers per series.
   *
   * @throws TypeError where `temporality` is not valid.
   */
  producer(options: BoundProducerOptions = {}): MetricProducer {
    const temporalityOf = resolveTemporality(options.temporality ?? 'cumulative');
    return new BoundMetricProducer({
      producer: this.#producers++,
      meters: this.#meters,
      callbacks: this.#host.callbacks,
      callbackTimeoutMillis: this.#callbackTimeoutMillis,
      temporalityOf,
    });
  }
}

function scopeOf(name: string, version: string, schemaUrl: string | undefined): ScopeMetrics['scope'] {
  return schemaUrl === undefined ? { name, version } : { name, version, schemaUrl };
}
