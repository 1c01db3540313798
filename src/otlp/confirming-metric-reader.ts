import {
  PeriodicExportingMetricReader,
  type CollectionResult,
  type MetricCollectOptions,
  type MetricData,
  type PeriodicExportingMetricReaderOptions,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { withoutRemovedEngines } from '../metrics/live-engines.ts';
import { SCOPE_NAME } from '../metrics/scope.ts';
import { Confirmation, type FlushOutcome } from './confirmation.ts';
import { Delivery } from './delivery.ts';
import { WatchedExporter } from './watched-exporter.ts';

/** Options of {@link ConfirmingMetricReader.flush} and {@link ConfirmingMetricReader.flushAndShutdown}. */
export interface ConfirmOptions {
  /** The longest time to wait, in milliseconds. Default, also for what is no number above 0: 5000. */
  readonly timeoutMillis?: number | undefined;
}

/**
 * The SDK's `PeriodicExportingMetricReader`, with the same options, and with a flush that has a deadline and tells
 * whether the data arrived: the SDK's own `forceFlush()` resolves even when the export failed, and its `shutdown()`
 * takes as long as the exporter's retries, which is seconds where the collector is gone.
 *
 * ```ts
 * const reader = new ConfirmingMetricReader({ exporter: new OTLPMetricExporter() });
 * const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
 * …
 * const outcome = await reader.flush({ timeoutMillis: 2000 });
 * if (!outcome.delivered) console.error(outcome.error.message);
 * ```
 *
 * Works with every push exporter: OTLP over HTTP with JSON or protobuf, OTLP over gRPC, and others.
 */
export class ConfirmingMetricReader extends PeriodicExportingMetricReader {
  readonly #deliveries: Deliveries;

  /** @throws Error where the SDK's reader finds an option wrong. */
  constructor(options: PeriodicExportingMetricReaderOptions) {
    const deliveries: Deliveries = { latest: new Delivery(), confirmations: new Set() };
    const exporter = new WatchedExporter(options.exporter, () => deliveries.latest);
    super({ ...options, exporter });
    this.#deliveries = deliveries;
  }

  /**
   * Collects and exports now, and tells whether everything that had been recorded before the call has arrived: also
   * what an export under way at the call carries, where it is lost if that fails (delta temporality).
   *
   * Delivered means that the receiver accepted it. One that accepts a request and rejects some of its points (OTLP's
   * partial success) counts as well: the SDK's exporters only log that.
   *
   * Never rejects, and resolves at the deadline at the latest; what is under way then goes on.
   */
  flush(options: ConfirmOptions = {}): Promise<FlushOutcome> {
    return this.#confirm(() => this.forceFlush(), options);
  }

  /**
   * Shuts down a MeterProvider or NodeSDK that has this reader, whose last collection is part of that, and tells as
   * {@link flush} does whether everything arrived. Disable the instrumentation first: `vllm.disable()` ends the
   * requests in flight.
   *
   * Never rejects, and resolves at the deadline at the latest. The SDK's shutdown then goes on, and the retries of
   * its exporter keep the process alive until the exporter's own timeout is over: call `process.exit()` where the
   * process is to end.
   */
  flushAndShutdown(
    provider: { shutdown(): Promise<void> },
    options: ConfirmOptions = {},
  ): Promise<FlushOutcome> {
    return this.#confirm(() => provider.shutdown(), options);
  }

  /** As the SDK's reader, which calls it before each export. */
  override async collect(options?: MetricCollectOptions): Promise<CollectionResult> {
    const delivery = new Delivery();
    this.#deliveries.latest = delivery;
    for (const confirmation of this.#deliveries.confirmations) confirmation.follow(delivery);
    try {
      const result = await super.collect(options);
      const resourceMetrics = current(result.resourceMetrics);
      delivery.collect(resourceMetrics);
      return { ...result, resourceMetrics };
    } catch (error) {
      delivery.fail(error);
      throw error;
    }
  }

  async #confirm(act: () => Promise<void>, options: ConfirmOptions): Promise<FlushOutcome> {
    const confirmation = new Confirmation(this.#deliveries.latest);
    this.#deliveries.confirmations.add(confirmation);
    try {
      return await confirmation.outcome(act, options.timeoutMillis);
    } finally {
      this.#deliveries.confirmations.delete(confirmation);
    }
  }
}

/** Without the engines that have been removed, of which the SDK forgets none. */
function current(collected: ResourceMetrics): ResourceMetrics {
  const scopeMetrics = collected.scopeMetrics.map((scope) =>
    scope.scope.name === SCOPE_NAME ? { ...scope, metrics: scope.metrics.map(currentPoints) } : scope,
  );
  return { ...collected, scopeMetrics };
}

function currentPoints(metric: MetricData): MetricData {
  const points: readonly object[] = withoutRemovedEngines<MetricData['dataPoints'][number]>(
    metric.dataPoints,
  );
  return points === metric.dataPoints ? metric : ({ ...metric, dataPoints: points } as MetricData);
}

/** Shared by the reader and the exporter that it wraps before it has a `this`. */
interface Deliveries {
  latest: Delivery;
  readonly confirmations: Set<Confirmation>;
}
