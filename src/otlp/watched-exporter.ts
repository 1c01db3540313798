import {
  AggregationTemporality,
  InstrumentType,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Delivery } from './delivery.ts';

type ResultCallback = Parameters<PushMetricExporter['export']>[1];

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SUCCESS = 0;

/** An exporter that keeps account of each export, and otherwise does what the one in it does. */
export class WatchedExporter implements PushMetricExporter {
  readonly selectAggregation?: NonNullable<PushMetricExporter['selectAggregation']>;
  readonly #exporter: PushMetricExporter;
  readonly #currentDelivery: () => Delivery;

  constructor(exporter: PushMetricExporter, currentDelivery: () => Delivery) {
    this.#exporter = exporter;
    this.#currentDelivery = currentDelivery;
    // Readers take their own default where an exporter has no such method.
    if (exporter.selectAggregation) this.selectAggregation = exporter.selectAggregation.bind(exporter);
  }

  /**
   * As the exporter says; but the SDK goes on giving a cumulative reader gauges that are no longer observed, and an
   * exported gauge has no temporality that this could change.
   */
  selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    if (instrument === InstrumentType.OBSERVABLE_GAUGE) return AggregationTemporality.DELTA;
    const { CUMULATIVE } = AggregationTemporality;
    return this.#exporter.selectAggregationTemporality?.(instrument) ?? CUMULATIVE;
  }

  export(metrics: ResourceMetrics, resultCallback: ResultCallback): void {
    const delivery = this.#currentDelivery();
    delivery.beginExport();
    try {
      this.#exporter.export(metrics, (result) => {
        const code: number = result.code;
        delivery.endExport(metrics, code === SUCCESS ? undefined : (result.error ?? 'the exporter failed'));
        resultCallback(result);
      });
    } catch (error) {
      delivery.endExport(metrics, error);
      throw error;
    }
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}
