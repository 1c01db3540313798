import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { messageOf } from '../metrics/message-of.ts';

/** One collection, and what became of the exports of what it gave. */
export class Delivery {
  /** What went wrong first. */
  error: Error | undefined;
  /** Data points that have arrived. */
  arrived = 0;
  // Undefined until collected. Counting points shows, too, where a reader gave up and left later batches unsent.
  #collected: number | undefined;
  #lostOnFailure = false;
  #openExports = 0;
  readonly #waiting: (() => void)[] = [];

  /** Whether all that was collected has arrived. */
  get complete(): boolean {
    return this.error === undefined && this.#collected !== undefined && this.arrived >= this.#collected;
  }

  get ended(): boolean {
    return this.error !== undefined || this.complete;
  }

  /** Whether what does not arrive is lost. Cumulative values come again with the next collection. */
  get lostOnFailure(): boolean {
    return this.#lostOnFailure;
  }

  /** The collection gave this. */
  collect(metrics: ResourceMetrics): void {
    this.#collected = countDataPoints(metrics);
    this.#lostOnFailure = metrics.scopeMetrics.some((scope) =>
      scope.metrics.some(
        ({ aggregationTemporality, dataPointType }) =>
          // A gauge comes again with the next collection, whatever its temporality.
          aggregationTemporality === AggregationTemporality.DELTA && dataPointType !== DataPointType.GAUGE,
      ),
    );
  }

  fail(reason: unknown): void {
    this.error ??= reason instanceof Error ? reason : new Error(messageOf(reason));
  }

  /** What was collected, or a batch of it, is on its way. */
  beginExport(): void {
    this.#openExports += 1;
  }

  /** @param failure - Undefined where the batch has arrived. */
  endExport(metrics: ResourceMetrics, failure: unknown): void {
    if (failure === undefined) this.arrived += countDataPoints(metrics);
    else this.fail(failure);
    this.#openExports -= 1;
    if (this.#openExports === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when every export that has begun has ended. */
  async exportsEnded(): Promise<void> {
    if (this.#openExports > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

function countDataPoints(metrics: ResourceMetrics): number {
  let count = 0;
  for (const scope of metrics.scopeMetrics) {
    for (const metric of scope.metrics) count += metric.dataPoints.length;
  }
  return count;
}
