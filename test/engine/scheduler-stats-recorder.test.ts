import { describe, expect, it } from 'vitest';
import type { PrefixCacheStats, SchedulerStats } from '../../src/engine/messages.ts';
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
