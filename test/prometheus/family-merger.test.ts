import { ValueType } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { captureDiag } from './captured-diag.ts';
import { startEndpoint } from './endpoint.ts';

const PREFIX = 'warn: opentelemetry-instrumentation-vllm/prometheus: ';

describe('families', () => {
  it('hold the series of several scopes and instruments under one HELP and TYPE', async () => {
    const { provider, text } = await startEndpoint();
    provider.getMeter('one').createCounter('a.b', { description: '' }).add(1, { from: 'one' });
    provider.getMeter('two').createCounter('a_b', { description: 'Things.' }).add(2, { from: 'two' });
    provider
      .getMeter('three')
      .createCounter('a_b_total', { description: 'Other.' })
      .add(3, { from: 'three' });
    expect(await text()).toBe(`# HELP a_b_total Things.
# TYPE a_b_total counter
a_b_total{from="one"} 1.0
a_b_total{from="two"} 2.0
a_b_total{from="three"} 3.0
`);
  });

  it('keep the first of two types under one name, and say so once', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint();
    const meter = provider.getMeter('app');
    meter.createGauge('load').record(1);
    meter.createHistogram('load').record(1);
    expect(await text()).toBe('# TYPE load gauge\nload 1.0\n');
    await text();
    expect(said).toEqual([
      `${PREFIX}the metric load is left out: as load (histogram), it would use the name load of load (gauge); rename one with a View`,
    ]);
  });

  it('leave out a metric that would use the name of a line of a histogram, and the other way round', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint({ targetInfo: false });
    const meter = provider.getMeter('app');
    const advice = { explicitBucketBoundaries: [1] };
    meter.createHistogram('first', { advice }).record(1);
    meter.createGauge('first.count').record(7);
    meter.createGauge('second.bucket').record(7);
    meter.createHistogram('second', { advice }).record(1);
    expect(await text()).toBe(`# TYPE first histogram
first_bucket{le="1.0"} 1.0
first_bucket{le="+Inf"} 1.0
first_sum 1.0
first_count 1.0
# TYPE second_bucket gauge
second_bucket 7.0
`);
    expect(said).toEqual([
      `${PREFIX}the metric first.count is left out: as first_count (gauge), it would use the name first_count of first (histogram); rename one with a View`,
      `${PREFIX}the metric second is left out: as second (histogram), it would use the name second_bucket of second_bucket (gauge); rename one with a View`,
    ]);
  });

  it('keep target_info to the resource', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint({}, { resource: resourceFromAttributes({ a: 'b' }) });
    provider.getMeter('app').createGauge('target.info').record(7);
    expect(await text()).toBe(
      '# HELP target_info Target metadata\n# TYPE target_info gauge\ntarget_info{a="b"} 1.0\n',
    );
    expect(said).toHaveLength(1);
  });

  it('never write a series twice, and say so once per name', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint();
    const counter = provider.getMeter('app').createCounter('c');
    counter.add(1, { n: 1 });
    counter.add(2, { n: '1' });
    counter.add(3, { 'x.y': 'a' });
    counter.add(4, { x_y: 'a' });
    provider.getMeter('other').createCounter('c').add(5, { x_y: 'a' });
    const expected = '# TYPE c_total counter\nc_total{n="1"} 1.0\nc_total{x_y="a"} 3.0\n';
    expect(await text()).toBe(expected);
    expect(await text()).toBe(expected);
    expect(said).toEqual([
      `${PREFIX}c_total has several series with the same labels once these are valid in Prometheus: only the first is exposed. Where they come from several scopes, the option scopeLabels tells them apart`,
    ]);
  });

  it('in OpenMetrics keep the full name of a counter or info metric whose short name is another family', async () => {
    const { provider, openMetrics } = await startEndpoint(
      {},
      { resource: resourceFromAttributes({ a: 'b' }) },
    );
    const meter = provider.getMeter('app');
    meter.createCounter('target', { description: 'Hits.' }).add(1);
    meter.createGauge('jobs').record(2);
    meter.createCounter('jobs', { description: 'Jobs.', unit: '{job}' }).add(3);
    meter.createGauge('cpu_seconds').record(4);
    meter.createCounter('cpu', { unit: 's' }).add(5);
    expect(await openMetrics()).toBe(`# TYPE target info
# HELP target Target metadata
target_info{a="b"} 1.0
# TYPE target_total unknown
# HELP target_total Hits.
target_total 1.0
# TYPE jobs gauge
jobs 2.0
# TYPE jobs_total unknown
# HELP jobs_total Jobs.
jobs_total 3.0
# TYPE cpu_seconds gauge
cpu_seconds 4.0
# TYPE cpu_seconds_total unknown
cpu_seconds_total 5.0
# EOF
`);
  });
});

describe('the series of an engine that nobody knows', () => {
  const labels = { model_name: 'gone', engine: '1' };

  it('are left out where they are of this package, and stay where they are of another scope', async () => {
    const { provider, text } = await startEndpoint();
    for (const scope of ['opentelemetry-instrumentation-vllm', 'app']) {
      const counter = provider.getMeter(scope).createCounter(`${scope.slice(0, 3)}.requests`);
      counter.add(1, labels);
      counter.add(2, { engine: '1' });
    }
    expect(await text()).toBe(`# TYPE ope_requests_total counter
ope_requests_total{engine="1"} 2.0
# TYPE app_requests_total counter
app_requests_total{engine="1",model_name="gone"} 1.0
app_requests_total{engine="1"} 2.0
`);
  });
});

describe('metric producers', () => {
  it('add their metrics to those of the SDK', async () => {
    const producer = producing(sum('produced', AggregationTemporality.CUMULATIVE));
    const { provider, text } = await startEndpoint({ metricProducers: [producer] });
    provider.getMeter('app').createCounter('own').add(1);
    expect(await text()).toBe(
      '# TYPE own_total counter\nown_total 1.0\n# TYPE produced_total counter\nproduced_total 7.0\n',
    );
  });

  it('are left out where they give deltas, and that is said once', async () => {
    const said = captureDiag();
    const { DELTA } = AggregationTemporality;
    const producer = producing(sum('produced', DELTA), sum('another', DELTA));
    const { text } = await startEndpoint({ metricProducers: [producer] });
    expect(await text()).toBe('');
    await text();
    expect(said).toEqual([
      `${PREFIX}the metric produced is left out, and so is every other whose metric producer gives deltas: Prometheus needs cumulative values; of a BoundMeterProvider, pass producer() without a temporality`,
    ]);
  });

  it('may use one descriptor for metrics of several types', async () => {
    const counter = sum('shared', AggregationTemporality.CUMULATIVE);
    const gauge = { ...counter, isMonotonic: false } as MetricData;
    const { text } = await startEndpoint({ metricProducers: [producing(counter, gauge)] });
    const expected = '# TYPE shared_total counter\nshared_total 7.0\n# TYPE shared gauge\nshared 7.0\n';
    expect(await text()).toBe(expected);
    expect(await text()).toBe(expected);
  });
});

function sum(name: string, aggregationTemporality: AggregationTemporality): MetricData {
  return {
    descriptor: { name, description: '', unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality,
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [{ attributes: {}, startTime: [0, 0], endTime: [1, 0], value: 7 }],
  };
}

function producing(...metrics: MetricData[]): MetricProducer {
  const scopeMetrics = [{ scope: { name: 'producer' }, metrics }];
  return {
    collect: async (): Promise<CollectionResult> => ({
      resourceMetrics: { resource: resourceFromAttributes({}), scopeMetrics },
      errors: [],
    }),
  };
}
