import assert from 'node:assert/strict';
import type { Attributes } from '@opentelemetry/api';
import type {
  CollectionResult,
  DataPoint,
  Histogram,
  MetricData,
  MetricProducer,
} from '@opentelemetry/sdk-metrics';

/** One collection that went without errors, looked into by metric name. */
export class Collected {
  readonly result: CollectionResult;

  constructor(result: CollectionResult) {
    this.result = result;
  }

  get metrics(): readonly MetricData[] {
    return this.result.resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  get names(): readonly string[] {
    return this.metrics.map(({ descriptor }) => descriptor.name);
  }

  /** The one metric of this name. */
  metric(name: string): MetricData {
    const found = this.metrics.filter(({ descriptor }) => descriptor.name === name);
    assert.equal(found.length, 1, `metrics named ${name}`);
    return found[0]!;
  }

  /** The data points of a metric; none where there is no such metric. */
  points(name: string): readonly DataPoint<unknown>[] {
    return this.names.includes(name) ? this.metric(name).dataPoints : [];
  }

  /** The values of a metric of numbers, by the JSON text of their attributes. */
  numbers(name: string): Record<string, number> {
    return Object.fromEntries(
      this.points(name).map(({ attributes, value }) => [JSON.stringify(attributes), value as number]),
    );
  }

  /** The histogram with exactly these attributes. */
  histogram(name: string, attributes: Attributes = {}): Histogram {
    const wanted = JSON.stringify(attributes);
    const found = this.points(name).filter((point) => JSON.stringify(point.attributes) === wanted);
    assert.equal(found.length, 1, `${name}${wanted}`);
    return found[0]!.value as Histogram;
  }
}

/** Collects, and fails where there was an error. */
export async function collect(producer: MetricProducer): Promise<Collected> {
  const result = await producer.collect();
  assert.deepEqual(result.errors, []);
  return new Collected(result);
}
