import { describe, expect, it } from 'vitest';
import type { SleepLevel } from '../../src/engine/frontend-series.ts';
import type { MultiModalCacheStats } from '../../src/engine/messages.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';
import { OWN_READERS, showThrough } from '../support/shown.ts';

const CACHE_CONFIG = 'vllm:cache_config_info';

/** Awake, weights offloaded, all discarded. */
function sleepState(reading: Reading): number[] {
  return ['awake', 'weights_offloaded', 'discard_all'].map((sleep_state) =>
    reading.value('vllm:engine_sleep_state', { sleep_state }),
  );
}

describe('the sleep state of an engine', () => {
  it.each<[SleepLevel, number[]]>([
    [0, [0, 0, 0]],
    [1, [0, 1, 0]],
    [2, [0, 0, 1]],
  ])('is not awake at level %i, and what the level says', async (level, expected) => {
    const { engine, read } = startService();
    expect(sleepState(await read())).toEqual([1, 0, 0]);
    engine.recordSleep(level);
    expect(sleepState(await read())).toEqual(expected);
    engine.recordWake();
    expect(sleepState(await read())).toEqual([1, 0, 0]);
  });

  it('goes from one level to another', async () => {
    const { engine, read } = startService();
    for (const [level, expected] of [
      [1, [0, 1, 0]],
      [2, [0, 0, 1]],
      [1, [0, 1, 0]],
      [0, [0, 0, 0]],
    ] as const) {
      engine.recordSleep(level);
      expect(sleepState(await read())).toEqual(expected);
    }
  });

  it.each([[3], [-1], [0.5], ['1'], [true], [null], [undefined], [1n], [Symbol('1')]])(
    'stays as it was for a level that is none, which is counted: %s',
    async (level) => {
      const { engine, read, dropped } = startService();
      engine.recordSleep(1);
      engine.recordSleep(level as SleepLevel);
      expect(sleepState(await read())).toEqual([0, 1, 0]);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it("is each engine's own, and waits out a disabled instrumentation", async () => {
    const { vllm, engine, read } = startService();
    vllm.engine(1).recordSleep(2);
    vllm.disable();
    engine.recordSleep(1);
    vllm.engine(1).recordWake();
    const reading = await read();
    expect(sleepState(reading)).toEqual([1, 0, 0]);
    const ofOther = { engine: '1', sleep_state: 'discard_all' };
    expect(reading.value('vllm:engine_sleep_state', ofOther)).toBe(1);
  });
});

describe('the cache configuration', () => {
  it('is one series of value 1 with the fields for labels, as Python writes them', async () => {
    const { engine, read, dropped } = startService();
    expect((await read()).names).not.toContain(CACHE_CONFIG);
    engine.recordCacheConfig({
      block_size: 16,
      cache_dtype: 'auto',
      calculate_kv_scales: false,
      enable_prefix_caching: true,
      gpu_memory_utilization: 0.92,
      num_gpu_blocks_override: null,
      sliding_window: undefined,
      kv_cache_max_concurrency: '1.0',
      kv_cache_memory_bytes: 2n ** 60n,
      swap_space_bytes: 4_294_967_296,
      prefix: '',
    });
    expect((await read()).points(CACHE_CONFIG)).toMatchObject([
      {
        attributes: {
          block_size: '16',
          cache_dtype: 'auto',
          calculate_kv_scales: 'False',
          enable_prefix_caching: 'True',
          gpu_memory_utilization: '0.92',
          num_gpu_blocks_override: 'None',
          sliding_window: 'None',
          kv_cache_max_concurrency: '1.0',
          kv_cache_memory_bytes: '1152921504606846976',
          swap_space_bytes: '4294967296',
          prefix: '',
          engine: '0',
        },
        value: 1,
      },
    ]);
    expect(dropped()).toEqual({});
  });

  it.each(OWN_READERS)('of a second call takes the place of the first, in the next of %s', async (kind) => {
    const { vllm, engine } = startService();
    const show = await showThrough(vllm, kind);
    const shown = async (): Promise<unknown> => (await show()).series(CACHE_CONFIG);
    engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 1000 });
    expect(await shown()).toEqual([[{ block_size: '16', num_gpu_blocks: '1000', engine: '0' }, 1]]);
    engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 2000 });
    expect(await shown()).toEqual([[{ block_size: '16', num_gpu_blocks: '2000', engine: '0' }, 1]]);
    engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 1000 });
    engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 1000 });
    expect(await shown()).toEqual([[{ block_size: '16', num_gpu_blocks: '1000', engine: '0' }, 1]]);
    engine.recordCacheConfig({});
    expect(await shown()).toEqual([[{ engine: '0' }, 1]]);
  });

  it('has the label engine of its own, whatever a field of that name says', async () => {
    const { vllm, read } = startService();
    vllm.engine(7).recordCacheConfig({ engine: 'v1', block_size: 1 });
    const [point] = (await read()).points(CACHE_CONFIG);
    expect(point!.attributes).toEqual({ engine: '7', block_size: '1' });
  });

  it('is one series per engine', async () => {
    const { vllm, read } = startService();
    for (const index of [0, 3]) vllm.engine(index).recordCacheConfig({ block_size: index });
    expect((await read()).points(CACHE_CONFIG).map(({ attributes }) => attributes)).toEqual([
      { engine: '0', block_size: '0' },
      { engine: '3', block_size: '3' },
    ]);
  });

  it('leaves out and counts fields whose names are no label names', async () => {
    const { engine, read, dropped } = startService();
    const bad = { 'block-size': 1, '2nd': 1, '': 1, größe: 1, __name__: 'x', 'a b': 1, 'a"': 1 };
    engine.recordCacheConfig({ ...bad, _private: 1, A9: 2 });
    expect((await read()).points(CACHE_CONFIG)[0]!.attributes).toEqual({
      _private: '1',
      A9: '2',
      engine: '0',
    });
    expect(dropped()).toEqual({ invalidValue: 7 });
  });

  it('has its first 128 fields for labels', async () => {
    const { engine, read } = startService();
    engine.recordCacheConfig(
      Object.fromEntries(Array.from({ length: 130 }, (_, field) => [`f${field}`, field])),
    );
    const { attributes } = (await read()).points(CACHE_CONFIG)[0]!;
    expect(Object.keys(attributes)).toHaveLength(129);
    expect(attributes).toMatchObject({ f0: '0', f127: '127', engine: '0' });
  });

  it.each<[string, unknown, object]>([
    ['null', null, {}],
    ['undefined', undefined, {}],
    ['a number', 5, { malformedMessage: 1 }],
    ['a text', 'block_size', { malformedMessage: 1 }],
    ['a field without a text', { block_size: Object.create(null) as object }, { malformedMessage: 1 }],
    [
      'a field that fails to be read',
      {
        get block_size(): never {
          throw new RangeError('gone');
        },
      },
      { malformedMessage: 1 },
    ],
  ])('that is none leaves the one before: %s', async (_, config, counted) => {
    const { engine, read, dropped } = startService();
    engine.recordCacheConfig({ block_size: 16 });
    engine.recordCacheConfig(config as Record<string, unknown>);
    expect((await read()).points(CACHE_CONFIG)[0]!.attributes).toEqual({ block_size: '16', engine: '0' });
    expect(dropped()).toEqual(counted);
  });

  it('is not changed while the instrumentation is disabled', async () => {
    const { vllm, engine, read } = startService();
    engine.recordCacheConfig({ block_size: 16 });
    vllm.disable();
    engine.recordCacheConfig({ block_size: 32 });
    expect((await read()).points(CACHE_CONFIG)[0]!.attributes).toEqual({ block_size: '16', engine: '0' });
  });
});

describe('the multimodal cache', () => {
  const NAMES = ['vllm:mm_cache_queries', 'vllm:mm_cache_hits'];

  it('has its look-ups and hits added up', async () => {
    const { engine, read, dropped } = startService();
    engine.recordMultiModalCacheStats({ queries: 5, hits: 3 });
    engine.recordMultiModalCacheStats({ queries: 2n, hits: 0n });
    engine.recordMultiModalCacheStats({});
    const reading = await read();
    expect(NAMES.map((name) => reading.value(name))).toEqual([7, 3]);
    expect(dropped()).toEqual({});
  });

  it('counts what cannot be right, and throws nothing', async () => {
    const { engine, read, dropped } = startService();
    engine.recordMultiModalCacheStats({ queries: -1, hits: 3 });
    engine.recordMultiModalCacheStats({ queries: 4, hits: '1' as unknown as number });
    for (const none of [5, 'stats', null, undefined]) {
      engine.recordMultiModalCacheStats(none as unknown as MultiModalCacheStats);
    }
    const reading = await read();
    expect(NAMES.map((name) => reading.value(name))).toEqual([4, 3]);
    expect(dropped()).toEqual({ invalidValue: 2, malformedMessage: 2 });
  });

  it('is not counted while the instrumentation is disabled', async () => {
    const { vllm, engine, read } = startService();
    vllm.disable();
    engine.recordMultiModalCacheStats({ queries: 5, hits: 3 });
    const reading = await read();
    expect(NAMES.map((name) => reading.value(name))).toEqual([0, 0]);
  });
});
