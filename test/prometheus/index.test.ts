import { AggregationTemporality, InstrumentType, MetricReader } from '@opentelemetry/sdk-metrics';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as prometheus from '../../src/prometheus/index.ts';

describe('the prometheus entry', () => {
  it('exports the exporter alone', () => {
    expect(Object.keys(prometheus)).toEqual(['VllmPrometheusExporter']);
    expectTypeOf<prometheus.VllmPrometheusExporter>().toExtend<MetricReader>();
    expectTypeOf<prometheus.VllmPrometheusExporter['getMetricsRequestHandler']>().toEqualTypeOf<
      (request: IncomingMessage, response: ServerResponse) => void
    >();
    expectTypeOf<ReturnType<prometheus.VllmPrometheusExporter['status']>>().toEqualTypeOf<{
      readonly collections: number;
      readonly failedCollections: number;
      readonly callbackErrors: number;
    }>();
  });

  it('gives a reader that is cumulative but for observed gauges, where the SDK would forget no series, and needs no flush', async () => {
    const exporter = new prometheus.VllmPrometheusExporter({ preventServerStart: true });
    expect(exporter).toBeInstanceOf(MetricReader);
    const { OBSERVABLE_GAUGE } = InstrumentType;
    for (const type of Object.values(InstrumentType)) {
      expect(exporter.selectAggregationTemporality(type)).toBe(
        type === OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
      );
    }
    await expect(exporter.forceFlush()).resolves.toBeUndefined();
  });

  it('refuses an option that is not valid at construction', () => {
    expect(() => new prometheus.VllmPrometheusExporter({ port: 70_000 })).toThrow(
      new TypeError('port must be a whole number from 0 to 65535; got 70000'),
    );
  });
});
