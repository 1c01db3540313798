import { describe, expect, it } from 'vitest';
import { IntervalAccumulator } from '../../src/engine/interval-accumulator.ts';
import type { PrefixCacheStats, SchedulerStats } from '../../src/engine/messages.ts';
import { captureDiag } from '../support/captured-diag.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const RUNNING = 'vllm:num_requests_running';
const WAITING = 'vllm:num_requests_waiting';
const BY_REASON = 'vllm:num_requests_waiting_by_reason';
const KV_USAGE = 'vllm:kv_cache_usage_perc';

describe('scheduler statistics', () => {
  it.each<[string, (service: ReturnType<typeof startService>, stats: SchedulerStats) => void]>([
    ['by recordSchedulerStats', ({ engine }, stats) => engine.recordSchedulerStats(stats)],
    ['by a message', ({ vllm }, stats) => vllm.observe({ scheduler_stats: stats, outputs: [] })],
    ['by a message without outputs', ({ vllm }, stats) => vllm.observe({ scheduler_stats: stats })],
  ])('set the gauges, %s', async (_, record) => {
    const service = startService();
    record(service, {
      num_running_reqs: 8,
      num_waiting_reqs: 3,
      num_skipped_waiting_reqs: 2,
      kv_cache_usage: 0.75,
    });
    const reading = await service.read();
    expect(reading.value(RUNNING)).toBe(8);
    expect(reading.value(WAITING)).toBe(5);
    expect(reading.value(BY_REASON, { reason: 'capacity' })).toBe(3);
    expect(reading.value(BY_REASON, { reason: 'deferred' })).toBe(2);
    expect(reading.value(KV_USAGE)).toBe(0.75);
  });

  it('set gauges, and do not add to them', async () => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ num_running_reqs: 8, num_waiting_reqs: 3, kv_cache_usage: 1 });
    engine.recordSchedulerStats({ num_running_reqs: 2, num_waiting_reqs: 1, kv_cache_usage: 0.25 });
    const reading = await read();
    expect([RUNNING, WAITING, KV_USAGE].map((name) => reading.value(name))).toEqual([2, 1, 0.25]);
  });

  it('take what an old engine does not send for 0', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ num_waiting_reqs: 3, num_skipped_waiting_reqs: 4 });
    engine.recordSchedulerStats({ num_waiting_reqs: 3 });
    const reading = await read();
    expect(reading.value(WAITING)).toBe(3);
    expect(reading.value(BY_REASON, { reason: 'deferred' })).toBe(0);
    expect(dropped()).toEqual({});
  });

  it('add the deltas of the prefix caches, look-ups of resumed requests left out', async () => {
    const { engine, read } = startService();
    const stats: PrefixCacheStats = {
      reset: true,
      requests: 1,
      queries: 100,
      hits: 60,
      preempted_requests: 5,
      preempted_queries: 500,
      preempted_hits: 400,
    };
    engine.recordSchedulerStats({ prefix_cache_stats: stats });
    engine.recordSchedulerStats({
      prefix_cache_stats: { queries: 10, hits: 1 },
      connector_prefix_cache_stats: { queries: 40, hits: 20 },
    });
    engine.recordSchedulerStats({ prefix_cache_stats: null, connector_prefix_cache_stats: null });
    const reading = await read();
    expect(reading.value('vllm:prefix_cache_queries')).toBe(110);
    expect(reading.value('vllm:prefix_cache_hits')).toBe(61);
    expect(reading.value('vllm:external_prefix_cache_queries')).toBe(40);
    expect(reading.value('vllm:external_prefix_cache_hits')).toBe(20);
  });

  it.each([
    [-1],
    [Number.NaN],
    [Infinity],
    [-Infinity],
    ['8'],
    [{}],
    [-7n],
    [2n ** 64n],
    [Symbol('8')],
    [Object.create(null)],
  ])(
    'add nothing for a value that cannot be right, and leave gauges as they were, each counted: %s',
    async (bad) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({ num_running_reqs: 5, prefix_cache_stats: { queries: 7, hits: 3 } });
      const value = bad as number;
      engine.recordSchedulerStats({
        num_running_reqs: value,
        num_waiting_reqs: value,
        num_skipped_waiting_reqs: value,
        kv_cache_usage: value,
        prefix_cache_stats: { queries: value, hits: value },
        connector_prefix_cache_stats: { queries: value, hits: value },
      });
      const reading = await read();
      expect([RUNNING, WAITING, KV_USAGE].map((name) => reading.value(name))).toEqual([5, 0, 0]);
      expect(reading.value('vllm:prefix_cache_queries')).toBe(7);
      expect(reading.value('vllm:prefix_cache_hits')).toBe(3);
      expect(reading.value('vllm:external_prefix_cache_queries')).toBe(0);
      expect(dropped()).toEqual({ invalidValue: 8 });
    },
  );

  it.each([[null], [undefined], [5], ['stats'], [true], [Symbol('stats')]])(
    'that are %s are dropped and counted',
    async (stats) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({ num_running_reqs: 5 });
      engine.recordSchedulerStats(stats as SchedulerStats);
      expect((await read()).value(RUNNING)).toBe(5);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it.each([[5], ['stats'], [true], [Symbol('stats')]])(
    'of a prefix cache that are %s are dropped and counted, the rest taken',
    async (stats) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({ num_running_reqs: 5, prefix_cache_stats: stats as PrefixCacheStats });
      expect((await read()).value(RUNNING)).toBe(5);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('of a message that are none are dropped and counted, the outputs taken', async () => {
    const { vllm, engine, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    vllm.observe({
      outputs: [{ request_id: 'r', finish_reason: 0 }],
      scheduler_stats: 5 as unknown as SchedulerStats,
    });
    expect(request.ended).toBe(true);
    expect(dropped()).toEqual({ malformedMessage: 1 });
  });
});

const CACHED_BY_SOURCE = 'vllm:prompt_tokens_cached_by_source';

describe('cached tokens by source', () => {
  it('are the hits of the own cache for the device, and what the connector says for the others', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      prefix_cache_stats: { queries: 100, hits: 60 },
      connector_prefix_cache_stats: {
        queries: 40,
        hits: 20,
        hits_by_source: { host: 12, disk: 3n, external_unspecified: 5 },
      },
    });
    engine.recordSchedulerStats({
      prefix_cache_stats: { queries: 5, hits: 4 },
      connector_prefix_cache_stats: { queries: 2, hits: 2, hits_by_source: { p2p: 1, host: 1 } },
    });
    const bySource = sources(await read());
    expect(bySource).toEqual({ device: 64, host: 13, p2p: 1, disk: 3, external_unspecified: 5 });
    expect(dropped()).toEqual({});
  });

  it('take a device that the connector names on top, and know no further source', async () => {
    const { engine, read, dropped } = startService();
    const hits_by_source = { device: 7, tape: 9, constructor: 9 };
    engine.recordSchedulerStats({
      prefix_cache_stats: { hits: 60 },
      connector_prefix_cache_stats: { hits_by_source },
    });
    const bySource = sources(await read());
    expect(bySource).toEqual({ device: 67, host: 0, p2p: 0, disk: 0, external_unspecified: 0 });
    expect(dropped()).toEqual({});
  });

  it('read nothing that a map only inherits', async () => {
    const { engine, read } = startService();
    const hits_by_source = Object.create({ host: 12 }) as Record<string, number>;
    engine.recordSchedulerStats({ connector_prefix_cache_stats: { hits_by_source } });
    expect(sources(await read()).host).toBe(0);
  });

  it.each<[string, unknown, object]>([
    ['no map', 5, { malformedMessage: 1 }],
    ['null', null, {}],
    ['values that cannot be right', { host: -1, p2p: '3', disk: 2 }, { invalidValue: 2 }],
  ])('leave out what is %s, the rest taken', async (_, hits_by_source, counted) => {
    const { engine, read, dropped } = startService();
    const stats = { hits: 3, queries: 4, hits_by_source } as PrefixCacheStats;
    engine.recordSchedulerStats({ connector_prefix_cache_stats: stats });
    const reading = await read();
    expect(reading.value('vllm:external_prefix_cache_hits')).toBe(3);
    expect(sources(reading)).toMatchObject({ device: 0, host: 0, p2p: 0 });
    expect(dropped()).toEqual(counted);
  });
});

describe('performance statistics', () => {
  const NAMES = ['flops', 'read_bytes', 'write_bytes'].map((what) => `vllm:estimated_${what}_per_gpu`);

  it('are added, each to its own counter', async () => {
    const { engine, read } = startService();
    const perf = { num_flops_per_gpu: 1e12, num_read_bytes_per_gpu: 2e9, num_write_bytes_per_gpu: 3 };
    engine.recordSchedulerStats({ perf_stats: perf });
    engine.recordSchedulerStats({ perf_stats: { ...perf, num_write_bytes_per_gpu: undefined } });
    engine.recordSchedulerStats({ perf_stats: null });
    const reading = await read();
    expect(NAMES.map((name) => reading.value(name))).toEqual([2e12, 4e9, 3]);
  });

  it('beyond 2^53 are summed without loss, and rounded once where they are read', async () => {
    const { engine, read } = startService();
    const odd = 2n ** 53n + 1n;
    for (let step = 0; step < 3; step += 1) {
      engine.recordSchedulerStats({
        perf_stats: {
          num_flops_per_gpu: odd,
          num_read_bytes_per_gpu: 2n ** 64n - 1n,
          num_write_bytes_per_gpu: step === 0 ? 2n ** 53n : 1,
        },
      });
    }
    const reading = await read();
    // Each odd one rounded by itself would make 3 * 2^53, and a double that has reached 2^53 takes no 1 any more.
    expect(NAMES.map((name) => reading.value(name))).toEqual([
      Number(3n * odd),
      Number(3n * (2n ** 64n - 1n)),
      2 ** 53 + 2,
    ]);
    expect(Number(3n * odd)).toBe(3 * 2 ** 53 + 4);
  });

  it('that cannot be right count as 0', async () => {
    const { engine, read, dropped } = startService();
    const perf = { num_flops_per_gpu: -1, num_read_bytes_per_gpu: Number.NaN, num_write_bytes_per_gpu: 5n };
    engine.recordSchedulerStats({ perf_stats: perf });
    engine.recordSchedulerStats({ perf_stats: 5 as unknown as SchedulerStats['perf_stats'] });
    const reading = await read();
    expect(NAMES.map((name) => reading.value(name))).toEqual([0, 0, 5]);
    expect(dropped()).toEqual({ invalidValue: 2, malformedMessage: 1 });
  });
});

describe('CUDA-graph statistics', () => {
  const RUN = { num_unpadded_tokens: 6, num_padded_tokens: 8n, num_paddings: 2, runtime_mode: 'FULL' };

  it('that are right are no drop', () => {
    const { engine, dropped } = startService();
    engine.recordSchedulerStats({ cudagraph_stats: RUN });
    engine.recordSchedulerStats({ cudagraph_stats: null });
    expect(dropped()).toEqual({});
  });

  it.each<[string, object, string]>([
    ['a negative number', { num_unpadded_tokens: -1 }, 'num_unpadded_tokens: -1'],
    ['a number that is text', { num_padded_tokens: '8' }, 'num_padded_tokens: 8'],
    ['no number at all', { num_paddings: undefined }, 'num_paddings: undefined'],
    ['a mode that is no name', { runtime_mode: 'a | b' }, 'runtime_mode: a | b'],
    ['several parts that are wrong', { num_paddings: NaN, runtime_mode: 5 }, 'num_paddings: NaN'],
  ])('with %s are one drop, with a log and without', (_, wrong, said) => {
    const warnings = captureDiag();
    const { engine, vllm, dropped } = startService();
    const cudagraph_stats = { ...RUN, ...wrong } as SchedulerStats['cudagraph_stats'];
    engine.recordSchedulerStats({ cudagraph_stats });
    expect(dropped()).toEqual({ invalidValue: 1 });
    const accumulator = new IntervalAccumulator();
    vllm.watchEngines({
      engineAdded: (watched) => watched.attach(accumulator),
      engineRemoved: () => {},
    });
    engine.recordSchedulerStats({ cudagraph_stats });
    expect(dropped()).toEqual({ invalidValue: 2 });
    expect(accumulator.drain().cudagraph).toBeUndefined();
    expect(warnings).toEqual([
      `opentelemetry-instrumentation-vllm: invalidValue: ${said} (further ones are only counted in status().dropped)`,
    ]);
  });

  it('that are no object are a drop', () => {
    const { engine, dropped } = startService();
    engine.recordSchedulerStats({ cudagraph_stats: 'FULL' as SchedulerStats['cudagraph_stats'] });
    expect(dropped()).toEqual({ malformedMessage: 1 });
  });
});

describe('KV eviction events', () => {
  const LIFETIME = 'vllm:kv_block_lifetime_seconds';
  const IDLE = 'vllm:kv_block_idle_before_evict_seconds';
  const GAP = 'vllm:kv_block_reuse_gap_seconds';

  it('put a sample of lifetime and idle time for each block, and one of each gap between uses', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_cache_eviction_events: [
        { lifetime_seconds: 8, idle_seconds: 0.5, reuse_gaps_seconds: [0.25, 1, 2] },
        { lifetime_seconds: 0, idle_seconds: 0, reuse_gaps_seconds: [] },
        { lifetime_seconds: 4000 },
      ],
    });
    engine.recordSchedulerStats({ kv_cache_eviction_events: [] });
    engine.recordSchedulerStats({ kv_cache_eviction_events: null });
    const reading = await read();
    expect(reading.histogram(LIFETIME)).toMatchObject({ count: 3, sum: 4008 });
    expect(reading.histogram(IDLE)).toMatchObject({ count: 2, sum: 0.5 });
    expect(reading.histogram(GAP)).toMatchObject({ count: 3, sum: 3.25 });
    expect(reading.histogram(LIFETIME).buckets.at(-1)).toBe(1);
    expect(dropped()).toEqual({});
  });

  it('lose nothing to neighbours that cannot be right', async () => {
    const { engine, read, dropped } = startService();
    const events = [
      5,
      { lifetime_seconds: -1, idle_seconds: 2, reuse_gaps_seconds: [Number.NaN, 3, 'soon'] },
      { lifetime_seconds: 4, idle_seconds: Infinity, reuse_gaps_seconds: 7 },
      null,
    ];
    engine.recordSchedulerStats({
      kv_cache_eviction_events: events as SchedulerStats['kv_cache_eviction_events'],
    });
    engine.recordSchedulerStats({
      kv_cache_eviction_events: {} as SchedulerStats['kv_cache_eviction_events'],
    });
    const reading = await read();
    expect(reading.histogram(LIFETIME)).toMatchObject({ count: 1, sum: 4 });
    expect(reading.histogram(IDLE)).toMatchObject({ count: 1, sum: 2 });
    expect(reading.histogram(GAP)).toMatchObject({ count: 1, sum: 3 });
    expect(dropped()).toEqual({ invalidValue: 4, malformedMessage: 3 });
  });
});

describe('a gauge', () => {
  it.each<[keyof SchedulerStats, number[]]>([
    ['num_running_reqs', [8, 11, 10, 1, 0.5]],
    ['num_waiting_reqs', [9, 4, 3, 1, 0.5]],
    ['num_skipped_waiting_reqs', [9, 12, 10, 2, 0.5]],
    ['kv_cache_usage', [9, 11, 10, 1, 0.75]],
  ])(
    'keeps its last value where the new %s cannot be right, the others take theirs',
    async (bad, expected) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({
        num_running_reqs: 8,
        num_waiting_reqs: 3,
        num_skipped_waiting_reqs: 2,
        kv_cache_usage: 0.75,
      });
      engine.recordSchedulerStats({
        num_running_reqs: 9,
        num_waiting_reqs: 10,
        num_skipped_waiting_reqs: 1,
        kv_cache_usage: 0.5,
        [bad]: -1,
      });
      const reading = await read();
      const [capacity, deferred] = ['capacity', 'deferred'].map((reason) =>
        reading.value(BY_REASON, { reason }),
      );
      const [running, waiting, usage] = [RUNNING, WAITING, KV_USAGE].map((name) => reading.value(name));
      expect([running, waiting, capacity, deferred, usage]).toEqual(expected);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );
});

function sources(reading: Reading): Record<string, number> {
  return Object.fromEntries(
    ['device', 'host', 'p2p', 'disk', 'external_unspecified'].map((source) => [
      source,
      reading.value(CACHED_BY_SOURCE, { source }),
    ]),
  );
}
