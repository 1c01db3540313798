import assert from 'node:assert/strict';
import { AggregationTemporality, MetricReader } from '@opentelemetry/sdk-metrics';
import { Reading } from './reading.ts';

/** Collects when a test says so. */
export class TestReader extends MetricReader {
  constructor(temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE) {
    super({ aggregationTemporalitySelector: () => temporality });
  }

  async read(): Promise<Reading> {
    const { resourceMetrics, errors } = await this.collect();
    assert.deepEqual(errors, []);
    return new Reading(resourceMetrics);
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}
