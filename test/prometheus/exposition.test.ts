import { ValueType } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AggregationType, type AggregationOption } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import { engineAdded, engineRemoved } from '../../src/metrics/live-engines.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { captureDiag } from './captured-diag.ts';
import { startEndpoint } from './endpoint.ts';

const SCOPE = 'opentelemetry-instrumentation-vllm';
const LABELS = { model_name: 'm', engine: '0' };

describe('exposition of vLLM metrics', () => {
  it("writes a histogram with vLLM's name, buckets and spelling", async () => {
    const { provider, text } = await startEndpoint({}, { views: vllmViews() });
    const histogram = provider
      .getMeter(SCOPE)
      .createHistogram('vllm.request_num_preemptions', { description: 'Preemptions per request.' });
    for (const preemptions of [0, 0, 1, 3, 25]) histogram.record(preemptions, LABELS);
    engineAdded(LABELS);
    onTestFinished(() => engineRemoved(LABELS));
    expect(await text()).toBe(`# HELP vllm:request_num_preemptions Preemptions per request.
# TYPE vllm:request_num_preemptions histogram
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="1.0"} 3.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="2.0"} 3.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="3.0"} 4.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="4.0"} 4.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="5.0"} 4.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="10.0"} 4.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="20.0"} 4.0
vllm:request_num_preemptions_bucket{engine="0",model_name="m",le="+Inf"} 5.0
vllm:request_num_preemptions_sum{engine="0",model_name="m"} 29.0
vllm:request_num_preemptions_count{engine="0",model_name="m"} 5.0
`);
  });

  it('keeps the name of a histogram that ends in _total, in both formats', async () => {
    const { provider, text, openMetrics } = await startEndpoint(
      {},
      {
        views: [
          {
            instrumentName: 'vllm.iteration_tokens_total',
            name: 'vllm:iteration_tokens_total',
            aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: [1, 8] } },
          },
        ],
      },
    );
    provider.getMeter(SCOPE).createHistogram('vllm.iteration_tokens_total').record(3);
    const samples = `# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{le="1.0"} 0.0
vllm:iteration_tokens_total_bucket{le="8.0"} 1.0
vllm:iteration_tokens_total_bucket{le="+Inf"} 1.0
vllm:iteration_tokens_total_sum 3.0
vllm:iteration_tokens_total_count 1.0
`;
    expect(await text()).toBe(samples);
    expect(await openMetrics()).toBe(`${samples}# EOF\n`);
  });

  it('says once which Views to add where the MeterProvider has none', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint();
    const meter = provider.getMeter(SCOPE);
    meter.createCounter('vllm.num_preemptions').add(1);
    meter.createCounter('vllm.prompt_tokens').add(1);
    expect(await text()).toContain('\nvllm_num_preemptions_total 1.0\n');
    await text();
    expect(said).toEqual([
      "warn: opentelemetry-instrumentation-vllm/prometheus: the metric vllm.num_preemptions lacks vLLM's name: the MeterProvider has no Views of this package. Add them: new MeterProvider({ views: [...vllmViews()], readers: [exporter] }), with vllmViews from 'opentelemetry-instrumentation-vllm'",
    ]);
  });
});

describe('exposition of other metrics', () => {
  it('asks for no Views where another scope uses the prefix', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint();
    provider.getMeter('another').createCounter('vllm.something').add(1);
    expect(await text()).toBe('# TYPE vllm_something_total counter\nvllm_something_total 1.0\n');
    expect(said).toEqual([]);
  });

  it('names them with unit and type, and writes metadata in the order of each format', async () => {
    const { provider, text, openMetrics } = await startEndpoint();
    const meter = provider.getMeter('app', '1.2.3', { schemaUrl: 'https://example.com/schema' });
    meter.createCounter('jobs.done', { description: 'Jobs\\done "now"\nand then', unit: '{job}' }).add(2);
    meter.createCounter('cpu.time', { unit: 's' }).add(1.5);
    meter.createUpDownCounter('queue.size').add(-3, { 'queue.name': 'a' });
    meter.createGauge('cache.usage', { unit: '1', valueType: ValueType.DOUBLE }).record(0.25);
    expect(await text()).toBe(String.raw`# HELP jobs_done_total Jobs\\done "now"\nand then
# TYPE jobs_done_total counter
jobs_done_total 2.0
# TYPE cpu_time_seconds_total counter
cpu_time_seconds_total 1.5
# TYPE queue_size gauge
queue_size{queue_name="a"} -3.0
# TYPE cache_usage_ratio gauge
cache_usage_ratio 0.25
`);
    expect(await openMetrics()).toBe(String.raw`# TYPE jobs_done counter
# HELP jobs_done Jobs\\done \"now\"\nand then
jobs_done_total 2.0
# TYPE cpu_time_seconds counter
# UNIT cpu_time_seconds seconds
cpu_time_seconds_total 1.5
# TYPE queue_size gauge
queue_size{queue_name="a"} -3.0
# TYPE cache_usage_ratio gauge
# UNIT cache_usage_ratio ratio
cache_usage_ratio 0.25
# EOF
`);
  });

  it('writes NaN and infinities', async () => {
    const { provider, text } = await startEndpoint();
    const gauge = provider.getMeter('app').createGauge('g');
    gauge.record(NaN, { v: 'nan' });
    gauge.record(Infinity, { v: 'up' });
    gauge.record(-Infinity, { v: 'down' });
    expect(await text()).toBe(`# TYPE g gauge
g{v="nan"} NaN
g{v="up"} +Inf
g{v="down"} -Inf
`);
  });

  it('leaves out the unit line where the name does not end in the unit, which Prometheus would refuse', async () => {
    const { provider, openMetrics } = await startEndpoint();
    provider.getMeter('app').createGauge('seconds', { unit: 's' }).record(1);
    expect(await openMetrics()).toBe('# TYPE seconds gauge\nseconds 1.0\n# EOF\n');
  });

  it('writes a histogram of values that can be negative without a sum, and in OpenMetrics without a count', async () => {
    const aggregation: AggregationOption = {
      type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM,
      options: { boundaries: [-1, 1] },
    };
    const { provider, text, openMetrics } = await startEndpoint(
      {},
      { views: [{ instrumentName: 'd', aggregation }] },
    );
    provider.getMeter('app').createHistogram('d').record(0.5);
    const buckets = `# TYPE d histogram
d_bucket{le="-1.0"} 0.0
d_bucket{le="1.0"} 1.0
d_bucket{le="+Inf"} 1.0
`;
    expect(await text()).toBe(`${buckets}d_count 1.0\n`);
    expect(await openMetrics()).toBe(`${buckets}# EOF\n`);
  });

  it('moves an attribute called le out of the way of the buckets', async () => {
    const { provider, text } = await startEndpoint();
    provider
      .getMeter('app')
      .createHistogram('h', { advice: { explicitBucketBoundaries: [1] } })
      .record(0.5, { le: 'x' });
    expect(await text()).toContain('\nh_bucket{exported_le="x",le="1.0"} 1.0\n');
  });

  it('leaves out an exponential histogram and says so once', async () => {
    const said = captureDiag();
    const { provider, text } = await startEndpoint(
      {},
      { views: [{ instrumentName: 'e', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }] },
    );
    const meter = provider.getMeter('app');
    meter.createHistogram('e').record(1);
    meter.createGauge('g').record(1);
    expect(await text()).toBe('# TYPE g gauge\ng 1.0\n');
    await text();
    expect(said).toEqual([
      'warn: opentelemetry-instrumentation-vllm/prometheus: the metric e is left out: the text formats cannot hold exponential histograms; give it explicit buckets with a View',
    ]);
  });

  it('is an empty text or only the end mark where there are no metrics', async () => {
    const { text, openMetrics } = await startEndpoint();
    expect(await text()).toBe('');
    expect(await openMetrics()).toBe('# EOF\n');
  });
});

describe('scopeLabels', () => {
  it('adds the scope to every series, over labels of the same name', async () => {
    const { provider, text } = await startEndpoint({ scopeLabels: true });
    provider
      .getMeter('app', '1.2.3', { schemaUrl: 'https://example.com/schema' })
      .createCounter('c')
      .add(1, { a: 'x', otel_scope_name: 'forged' });
    provider.getMeter('bare').createCounter('c').add(2);
    expect(await text()).toBe(`# TYPE c_total counter
c_total{a="x",otel_scope_name="app",otel_scope_schema_url="https://example.com/schema",otel_scope_version="1.2.3"} 1.0
c_total{otel_scope_name="bare"} 2.0
`);
  });
});

describe('target_info', () => {
  const resource = resourceFromAttributes({ 'service.name': 'gateway', 'host.cpus': 4 });

  it('carries the resource, first of all, as a gauge or an info metric', async () => {
    const { provider, text, openMetrics } = await startEndpoint({}, { resource });
    provider.getMeter('app').createCounter('c').add(1);
    expect(await text()).toBe(`# HELP target_info Target metadata
# TYPE target_info gauge
target_info{host_cpus="4",service_name="gateway"} 1.0
# TYPE c_total counter
c_total 1.0
`);
    expect(await openMetrics()).toBe(`# TYPE target info
# HELP target Target metadata
target_info{host_cpus="4",service_name="gateway"} 1.0
# TYPE c counter
c_total 1.0
# EOF
`);
  });

  it('is left out on request', async () => {
    const { text } = await startEndpoint({ targetInfo: false }, { resource });
    expect(await text()).toBe('');
  });

  it('waits for attributes that a detector still looks up', async () => {
    const late = resourceFromAttributes({ 'service.name': 'gateway' }).merge(
      resourceFromAttributes({ 'host.id': new Promise((resolve) => setImmediate(() => resolve('abc'))) }),
    );
    const { text } = await startEndpoint({}, { resource: late });
    expect(await text()).toContain('target_info{host_id="abc",service_name="gateway"} 1.0\n');
  });
});
