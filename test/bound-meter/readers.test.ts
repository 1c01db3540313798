import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BoundMeterProvider } from '../../src/bound-meter/index.ts';
import { startEndpoint } from '../prometheus/endpoint.ts';
import { scrape } from '../prometheus/scrape.ts';

function start() {
  const provider = new BoundMeterProvider();
  const meter = provider.getMeter('test', '1.0');
  const bound = {
    counter: meter.createCounter('requests', { description: 'how many' }).bind({ a: '1' }),
    histogram: meter
      .createHistogram('sizes', { advice: { explicitBucketBoundaries: [1, 2] } })
      .bind({ a: '1' }),
  };
  meter.createObservableGauge('depth').addCallback((result) => result.observe(7, { a: '2' }));
  return { provider, bound };
}

/** A collector's side of a periodic reader that exports when it is flushed. */
function startPush(producer: MetricProducer, temporality: AggregationTemporality) {
  const exporter = new InMemoryMetricExporter(temporality);
  const reader = new PeriodicExportingMetricReader({ exporter, metricProducers: [producer] });
  const resource = resourceFromAttributes({ 'service.name': 'the service' });
  const sdk = new MeterProvider({ resource, readers: [reader] });
  onTestFinished(() => sdk.shutdown());
  return async () => {
    exporter.reset();
    await sdk.forceFlush();
    return exporter.getMetrics();
  };
}

describe('PeriodicExportingMetricReader', () => {
  it('exports what there is under the scope it is of and the resource of its own provider', async () => {
    const { provider, bound } = start();
    const push = startPush(provider.producer(), AggregationTemporality.CUMULATIVE);
    bound.counter.add(3);
    bound.histogram.record(1.5);
    const [exported] = await push();
    expect(exported!.resource.attributes['service.name']).toBe('the service');
    expect(exported!.scopeMetrics).toMatchObject([
      {
        scope: { name: 'test', version: '1.0' },
        metrics: [
          { descriptor: { name: 'requests', description: 'how many' }, dataPoints: [{ value: 3 }] },
          { descriptor: { name: 'sizes' }, dataPoints: [{ value: { count: 1, sum: 1.5, min: 1.5 } }] },
          { descriptor: { name: 'depth' }, dataPoints: [{ value: 7 }] },
        ],
      },
    ]);
  });

  it('exports deltas, and cumulative values beside them from another reader', async () => {
    const { provider, bound } = start();
    const pushDelta = startPush(provider.producer({ temporality: 'delta' }), AggregationTemporality.DELTA);
    const pushCumulative = startPush(provider.producer(), AggregationTemporality.CUMULATIVE);
    const read = async (push: typeof pushDelta) =>
      (await push())[0]!.scopeMetrics[0]!.metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        typeof dataPoints[0]!.value === 'number' ? dataPoints[0]!.value : dataPoints[0]!.value.count,
      ]);
    for (const round of [1, 2]) {
      bound.counter.add(1);
      for (let time = 0; time < 10; time += 1) bound.histogram.record(1);
      expect(await read(pushCumulative)).toEqual([
        ['requests', round],
        ['sizes', 10 * round],
        ['depth', 7],
      ]);
      expect(await read(pushDelta)).toEqual([
        ['requests', 1],
        ['sizes', 10],
        ['depth', 7],
      ]);
    }
  });
});

describe('a Prometheus endpoint', () => {
  it('exposes it from the stock exporter', async () => {
    const { provider, bound } = start();
    const exporter = new PrometheusExporter({
      preventServerStart: true,
      withoutScopeInfo: true,
      metricProducers: [provider.producer()],
    });
    const sdk = new MeterProvider({ readers: [exporter] });
    const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
    onTestFinished(async () => {
      server.close();
      await sdk.shutdown();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
    bound.counter.add(3);
    bound.histogram.record(1.5);
    const { body } = await scrape(url);
    expect(samples(body.toString())).toEqual([
      'requests_total{a="1"} 3',
      'sizes_count{a="1"} 1',
      'sizes_sum{a="1"} 1.5',
      'sizes_bucket{a="1",le="1"} 0',
      'sizes_bucket{a="1",le="2"} 1',
      'sizes_bucket{a="1",le="+Inf"} 1',
      'depth{a="2"} 7',
    ]);
  });

  it("exposes it from this package's exporter, concurrent scrapes included", async () => {
    const { provider, bound } = start();
    const endpoint = await startEndpoint({ metricProducers: [provider.producer()] });
    bound.counter.add(3);
    bound.histogram.record(1.5);
    for (const text of await Promise.all([endpoint.text(), endpoint.text(), endpoint.text()])) {
      expect(samples(text)).toEqual([
        'requests_total{a="1"} 3.0',
        'sizes_bucket{a="1",le="1.0"} 0.0',
        'sizes_bucket{a="1",le="2.0"} 1.0',
        'sizes_bucket{a="1",le="+Inf"} 1.0',
        'sizes_sum{a="1"} 1.5',
        'sizes_count{a="1"} 1.0',
        'depth{a="2"} 7.0',
      ]);
    }
    bound.counter.add(1);
    expect(samples(await endpoint.text())[0]).toBe('requests_total{a="1"} 4.0');
  });
});

/** The sample lines of an exposition, but for what describes the process. */
function samples(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('target_info'));
}
