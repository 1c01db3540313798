import type {
  AggregationTemporality,
  CollectionResult,
  MetricCollectOptions,
  MetricData,
  MetricProducer,
  ResourceMetrics,
  ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { BoundMeter } from './bound-meter.ts';
import type { CallbackRegistry } from './callback-registry.ts';
import type { Registration } from './callback-run.ts';
import type { InstrumentKind } from './sdk-constants.ts';
import { TimeSlice } from '../metrics/time-slice.ts';
import { wallTime } from './wall-time.ts';

/** What a producer reads. */
export interface ProducerSource {
  /** Which producer of the provider this is. */
  readonly producer: number;
  readonly meters: ReadonlyMap<string, BoundMeter>;
  readonly callbacks: CallbackRegistry;
  readonly callbackTimeoutMillis: number;
  readonly temporalityOf: (kind: InstrumentKind) => AggregationTemporality;
}

/** A reader takes the resource of the SDK's own collection and leaves that of a producer aside. */
const NO_RESOURCE: ResourceMetrics['resource'] = {
  attributes: {},
  asyncAttributesPending: false,
  merge: (other) => other ?? NO_RESOURCE,
  getRawAttributes: () => [],
};

/** What one reader reads a provider through. */
export class BoundMetricProducer implements MetricProducer {
  readonly #source: ProducerSource;
  readonly #stuck = new WeakSet<Registration>();
  #previous: Promise<unknown> = Promise.resolve();

  constructor(source: ProducerSource) {
    this.#source = source;
  }

  /**
   * Collects; collections of one producer come one after another, so that each delta is reported once. Never rejects,
   * as a reader would lose its whole collection to that, and never hangs: what goes wrong is in `errors`.
   *
   * @param options - `timeoutMillis`, where it is smaller, counts in place of the provider's `callbackTimeoutMillis`.
   */
  collect(options?: MetricCollectOptions): Promise<CollectionResult> {
    const result = this.#previous.then(() => this.#collect(options?.timeoutMillis));
    // Without the data, which would otherwise stay until the next collection.
    this.#previous = result.then(() => undefined);
    return result;
  }

  async #collect(timeoutMillis = Number.POSITIVE_INFINITY): Promise<CollectionResult> {
    const { producer, callbacks, callbackTimeoutMillis, meters, temporalityOf } = this.#source;
    const limit = Math.min(timeoutMillis, callbackTimeoutMillis);
    const runs = await callbacks.callAll(producer, this.#stuck, limit);
    const errors: unknown[] = [];
    const unobserved = new Set<object>();
    for (const run of runs) {
      if (run.failure === undefined) run.takeEffect();
      else {
        errors.push(run.failure.error);
        for (const stream of run.registration.streams.values()) unobserved.add(stream);
      }
    }
    // What is collected in one slice is of one moment, and each metric in any case.
    const slice = new TimeSlice();
    let endTime = wallTime();
    const scopeMetrics: ScopeMetrics[] = [];
    for (const { scope, streams } of meters.values()) {
      const metrics: MetricData[] = [];
      for (const stream of streams) {
        if (slice.isOver) {
          await slice.next();
          endTime = wallTime();
        }
        const metric = stream.collect({ producer, endTime, temporalityOf, unobserved });
        if (metric !== undefined) metrics.push(metric);
      }
      if (metrics.length > 0) scopeMetrics.push({ scope, metrics });
    }
    return { resourceMetrics: { resource: NO_RESOURCE, scopeMetrics }, errors };
  }
}
