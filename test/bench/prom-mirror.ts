import { DataPointType, type MetricData, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type Labels = Record<string, string>;

/** A registry of prom-client that has the same series with the same counts. */
export function promMirror({ scopeMetrics }: ResourceMetrics): Registry {
  const registry = new Registry();
  for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics)) mirror(metric, registry);
  return registry;
}

function mirror(metric: MetricData, registry: Registry): void {
  const { name, description: help } = metric.descriptor;
  const labelNames = [...new Set(metric.dataPoints.flatMap(({ attributes }) => Object.keys(attributes)))];
  const options = { name, help, labelNames, registers: [registry] };
  switch (metric.dataPointType) {
    case DataPointType.HISTOGRAM: {
      const buckets = metric.dataPoints[0]?.value.buckets.boundaries ?? [];
      const histogram = new Histogram({ ...options, buckets });
      for (const { attributes, value } of metric.dataPoints) {
        const bound = histogram.labels(attributes as Labels);
        for (const [position, count] of value.buckets.counts.entries()) {
          const sample = buckets[position] ?? buckets.at(-1)! * 1.1;
          for (let recorded = 0; recorded < count; recorded += 1) bound.observe(sample);
        }
      }
      return;
    }
    case DataPointType.SUM: {
      const counter = new Counter({ ...options, name: `${name}_total` });
      for (const { attributes, value } of metric.dataPoints) counter.labels(attributes as Labels).inc(value);
      return;
    }
    case DataPointType.GAUGE: {
      const gauge = new Gauge(options);
      for (const { attributes, value } of metric.dataPoints) gauge.labels(attributes as Labels).set(value);
      return;
    }
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      throw new Error(`${name}: this package makes no exponential histograms`);
  }
}
