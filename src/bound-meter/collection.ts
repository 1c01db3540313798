import type { HrTime } from '@opentelemetry/api';
import type { AggregationTemporality, DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics';
import type { Descriptor } from './descriptor.ts';
import { isGauge, isMonotonic, POINT_TYPE, type InstrumentKind } from './sdk-constants.ts';

/** One collection of one producer, once its callbacks have been called. */
export interface Collection {
  /** Which producer. */
  readonly producer: number;
  readonly endTime: HrTime;
  readonly temporalityOf: (kind: InstrumentKind) => AggregationTemporality;
  /** The streams that a callback failed to observe. */
  readonly unobserved: ReadonlySet<object>;
}

/** What a producer collects from, one stream of the meter's metrics. */
export interface MetricStream {
  readonly descriptor: Descriptor;
  /** The stream's data points; undefined where there is none. */
  collect(collection: Collection): MetricData | undefined;
  /** Takes a longer description, as the SDK does for instruments that are registered again. */
  describe(description: string): void;
}

/** A metric of numbers: a gauge, or a sum. */
export function numberMetric(
  descriptor: Descriptor,
  aggregationTemporality: AggregationTemporality,
  dataPoints: DataPoint<number>[],
): MetricData {
  const metric = { descriptor, aggregationTemporality, dataPoints };
  if (isGauge(descriptor.type)) return { ...metric, dataPointType: POINT_TYPE.gauge };
  return { ...metric, dataPointType: POINT_TYPE.sum, isMonotonic: isMonotonic(descriptor.type) };
}

/** A metric of histograms with explicit buckets. */
export function histogramMetric(
  descriptor: Descriptor,
  aggregationTemporality: AggregationTemporality,
  dataPoints: DataPoint<Histogram>[],
): MetricData {
  return { descriptor, aggregationTemporality, dataPointType: POINT_TYPE.histogram, dataPoints };
}
