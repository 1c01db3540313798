import {
  createNoopMeter,
  metrics,
  ROOT_CONTEXT,
  type Meter,
  type MeterProvider as ApiMeterProvider,
} from '@opentelemetry/api';
import { AggregationTemporality, MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { Drops } from '../../src/metrics/drops.ts';
import { SeriesStore } from '../../src/metrics/series-store.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { BASE, type HistogramReading } from '../support/reading.ts';
import { occurred, startService } from '../support/service.ts';
import { TestReader } from '../support/test-reader.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';
const ZERO: Omit<HistogramReading, 'buckets'> = { count: 0, sum: 0 };

/** A real provider whose meter has some methods replaced. */
function broken(reader: TestReader, replace: (meter: Meter) => Partial<Meter>): ApiMeterProvider {
  const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
  return {
    getMeter: (name, version) => {
      const meter = provider.getMeter(name, version);
      const replaced = replace(meter);
      return new Proxy(meter, {
        get: (target, key: keyof Meter) => replaced[key] ?? target[key].bind(target),
      });
    },
  };
}

function fail(): never {
  throw new Error('the provider failed');
}

describe('the series of a known engine', () => {
  it('exist at zero from the first collection on', async () => {
    const { read } = startService();
    const reading = await read();
    const zeroHistograms = [
      'vllm:request_num_preemptions',
      'vllm:request_prompt_tokens',
      'vllm:request_generation_tokens',
      'vllm:request_max_num_generation_tokens',
      'vllm:request_params_max_tokens',
      'vllm:request_prefill_kv_computed_tokens',
      'vllm:request_params_n',
      'vllm:e2e_request_latency_seconds',
      'vllm:request_queue_time_seconds',
      'vllm:request_inference_time_seconds',
      'vllm:request_prefill_time_seconds',
      'vllm:request_decode_time_seconds',
      'vllm:iteration_tokens_total',
      'vllm:kv_block_lifetime_seconds',
      'vllm:kv_block_idle_before_evict_seconds',
      'vllm:kv_block_reuse_gap_seconds',
      'vllm:time_to_first_token_seconds',
      'vllm:inter_token_latency_seconds',
      'vllm:request_time_per_output_token_seconds',
    ];
    for (const name of zeroHistograms) {
      const { buckets, ...rest } = reading.histogram(name);
      expect([name, rest]).toEqual([name, ZERO]);
      expect(buckets.every((count) => count === 0)).toBe(true);
      expect(buckets).toHaveLength(reading.boundaries(name).length + 1);
    }
    const zeroNumbers: [name: string, label?: string, values?: string[]][] = [
      ['vllm:num_requests_running'],
      ['vllm:num_requests_waiting'],
      ['vllm:num_requests_waiting_by_reason', 'reason', ['capacity', 'deferred']],
      ['vllm:kv_cache_usage_perc'],
      ['vllm:num_preemptions'],
      ['vllm:prefix_cache_queries'],
      ['vllm:prefix_cache_hits'],
      ['vllm:external_prefix_cache_queries'],
      ['vllm:external_prefix_cache_hits'],
      [
        'vllm:prompt_tokens_cached_by_source',
        'source',
        ['device', 'host', 'p2p', 'disk', 'external_unspecified'],
      ],
      ['vllm:mm_cache_queries'],
      ['vllm:mm_cache_hits'],
      ['vllm:spec_decode_num_drafts'],
      ['vllm:spec_decode_num_draft_tokens'],
      ['vllm:spec_decode_num_accepted_tokens'],
      ['vllm:estimated_flops_per_gpu'],
      ['vllm:estimated_read_bytes_per_gpu'],
      ['vllm:estimated_write_bytes_per_gpu'],
      ['vllm:prompt_tokens'],
      [
        'vllm:prompt_tokens_by_source',
        'source',
        ['local_compute', 'local_cache_hit', 'external_kv_transfer'],
      ],
      ['vllm:prompt_tokens_cached'],
      ['vllm:generation_tokens'],
      ['vllm:corrupted_requests'],
      ['vllm:request_success', 'finished_reason', ['stop', 'length', 'abort', 'error', 'repetition']],
    ];
    for (const [name, label, values] of zeroNumbers) {
      const expected = label === undefined ? [BASE] : values!.map((value) => ({ ...BASE, [label]: value }));
      expect(reading.points(name).map(({ attributes, value }) => [attributes, value])).toEqual(
        expected.map((attributes) => [attributes, 0]),
      );
    }
    expect(
      reading.points('vllm:engine_sleep_state').map(({ attributes, value }) => [attributes, value]),
    ).toEqual([
      [{ ...BASE, sleep_state: 'awake' }, 1],
      [{ ...BASE, sleep_state: 'weights_offloaded' }, 0],
      [{ ...BASE, sleep_state: 'discard_all' }, 0],
    ]);
    expect(reading.names.toSorted()).toEqual(
      ['vllm:engine_sleep_state', ...zeroHistograms, ...zeroNumbers.map(([name]) => name)].toSorted(),
    );
  });

  it('are one set per engine', async () => {
    const { vllm, read } = startService();
    vllm.engine(7);
    const reading = await read();
    expect(reading.points(PREEMPTIONS).map(({ attributes }) => attributes)).toEqual([
      BASE,
      { model_name: 'test-model', engine: '7' },
    ]);
    expect(reading.histogram(PREEMPTIONS, { engine: '7' })).toMatchObject(ZERO);
  });

  it('keep the zero out of the sums: the first sample makes a count of one', async () => {
    const { engine, read } = startService();
    await read();
    engine.startRequest().end();
    expect((await read()).histogram(PREEMPTIONS)).toEqual({
      count: 1,
      sum: 0,
      buckets: [1, 0, 0, 0, 0, 0, 0, 0],
    });
  });

  it('come as deltas where the reader wants them', async () => {
    const reader = new TestReader(AggregationTemporality.DELTA);
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(new MeterProvider({ readers: [reader], views: vllmViews() }));
    const engine = vllm.engine(0);
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject(ZERO);
    for (const preemptions of [1, 2]) {
      const request = engine.startRequest();
      for (let count = 0; count < preemptions; count += 1) request.recordPreemption();
      request.end();
      const reading = await reader.read();
      expect(reading.histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: preemptions });
      expect(reading.value('vllm:num_preemptions')).toBe(preemptions);
    }
  });
});

describe('a second provider', () => {
  it('gets the totals of counters and gauges, and histograms that start anew', async () => {
    const { vllm, engine, read } = startService();
    const first = engine.startRequest();
    first.recordPreemption();
    first.end();
    const secondReader = new TestReader();
    vllm.setMeterProvider(new MeterProvider({ readers: [secondReader], views: vllmViews() }));
    const second = engine.startRequest();
    second.recordPreemption();
    second.recordPreemption();
    second.end('length');

    const reading = await secondReader.read();
    expect(reading.value('vllm:num_preemptions')).toBe(3);
    expect(reading.value('vllm:request_success', { finished_reason: 'stop' })).toBe(1);
    expect(reading.value('vllm:request_success', { finished_reason: 'length' })).toBe(1);
    expect(reading.histogram(PREEMPTIONS)).toEqual({ count: 1, sum: 2, buckets: [0, 1, 0, 0, 0, 0, 0, 0] });
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
  });

  it('leaves the first without its observable callback', async () => {
    const { vllm, engine, read } = startService();
    await read();
    vllm.setMeterProvider(new MeterProvider({ readers: [new TestReader()], views: vllmViews() }));
    engine.startRequest().recordPreemption();
    const left = (await read()).metrics.filter(
      ({ descriptor }) => descriptor.name === 'vllm:num_preemptions',
    );
    expect(left.flatMap(({ dataPoints }) => dataPoints.map(({ value }) => value))).not.toContain(1);
  });

  it('that is the same one again changes nothing', async () => {
    const { vllm, engine, provider, read } = startService();
    vllm.setMeterProvider(provider);
    engine.startRequest().end();
    expect((await read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
  });
});

describe('a provider that throws', () => {
  it.each<{ where: string; replace: (meter: Meter) => Partial<Meter> }>([
    { where: 'createHistogram', replace: () => ({ createHistogram: fail }) },
    { where: 'createObservableCounter', replace: () => ({ createObservableCounter: fail }) },
    { where: 'createObservableGauge', replace: () => ({ createObservableGauge: fail }) },
  ])('in $where is counted once and recorded nowhere', async ({ replace }) => {
    const reader = new TestReader();
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(broken(reader, replace));
    expect(vllm.engine(0).startRequest().end()).toBe(true);
    expect(occurred(vllm)).toEqual({ providerError: 1 });
    expect(vllm.status().meterProvider).toBe(false);
    expect((await reader.read()).points).toBeDefined();
  });

  it('in getMeter is counted once', () => {
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider({ getMeter: fail });
    expect(vllm.engine(0).startRequest().end()).toBe(true);
    expect(occurred(vllm)).toEqual({ providerError: 1 });
    expect(vllm.status().meterProvider).toBe(false);
  });

  it('in addBatchObservableCallback still gets the histograms', async () => {
    const reader = new TestReader();
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(broken(reader, () => ({ addBatchObservableCallback: fail })));
    vllm.engine(0).startRequest().end();
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
    expect(occurred(vllm)).toEqual({ providerError: 1 });
  });

  it('in removeBatchObservableCallback does not keep the next one out', async () => {
    const reader = new TestReader();
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(broken(new TestReader(), () => ({ removeBatchObservableCallback: fail })));
    vllm.setMeterProvider(new MeterProvider({ readers: [reader], views: vllmViews() }));
    vllm.engine(0).startRequest().end();
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
    expect(occurred(vllm)).toEqual({ providerError: 1 });
  });

  it('in record is counted each time, and every request ends all the same', async () => {
    const reader = new TestReader();
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.setMeterProvider(broken(reader, () => ({ createHistogram: () => ({ record: fail }) })));
    const engine = vllm.engine(0);
    const atStart = vllm.status().dropped.providerError;
    expect(atStart).toBe(19);
    expect(engine.startRequest().end()).toBe(true);
    expect(vllm.status().dropped.providerError - atStart).toBe(12);
    expect(vllm.status().requestsInFlight).toBe(0);
    expect((await reader.read()).value('vllm:request_success', { finished_reason: 'stop' })).toBe(1);
  });
});

describe('SeriesStore', () => {
  it('knows whether there is a provider to record into', () => {
    const store = new SeriesStore(new Drops(), undefined);
    expect(store.connected).toBe(false);
    store.connect({ getMeter: createNoopMeter });
    expect(store.connected).toBe(false);
    store.connect(metrics.getMeterProvider());
    expect(store.connected).toBe(false);
    store.connect(new MeterProvider());
    expect(store.connected).toBe(true);
    store.disconnect();
    expect(store.connected).toBe(false);
  });

  it('records nowhere once disconnected', async () => {
    const reader = new TestReader();
    const store = new SeriesStore(new Drops(), undefined);
    const series = store.histogram(PREEMPTIONS, BASE);
    store.connect(new MeterProvider({ readers: [reader], views: vllmViews() }));
    series.record(1, ROOT_CONTEXT);
    store.disconnect();
    series.record(1, ROOT_CONTEXT);
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
  });

  it('refuses a metric that the catalogue has not, or has as another kind', () => {
    const store = new SeriesStore(new Drops(), undefined);
    expect(() => store.counter('vllm:no_such_metric', BASE)).toThrow(
      new TypeError('the catalogue has no such metric of this kind: vllm:no_such_metric'),
    );
    expect(() => store.gauge(PREEMPTIONS, BASE)).toThrow(TypeError);
    expect(() => store.histogram('vllm:num_preemptions', BASE)).toThrow(TypeError);
  });

  it('has room for every metric of the catalogue', () => {
    const store = new SeriesStore(new Drops(), undefined);
    const create = { counter: 'counter', gauge: 'gauge', info: 'gauge', histogram: 'histogram' } as const;
    for (const { name, kind } of catalogue) expect(store[create[kind]](name, BASE).attributes).toBe(BASE);
  });
});
