import { describe, expect, it } from 'vitest';
import { BASE, type Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const MB = 1e6;

const IDLE = {
  load_bytes: 0,
  load_time: 0,
  load_size: [],
  store_bytes: 0,
  store_time: 0,
  store_size: [],
  stores_skipped: 0,
};

const offloadNames = ({ names }: Reading): string[] => names.filter((name) => name.includes('kv_offload'));

/** Bytes, seconds, and the sizes' count and sum, in today's form and in the older one. */
function moved(reading: Reading, direction: 'load' | 'store'): number[][] {
  const transfer_type = direction === 'load' ? 'CPU_to_GPU' : 'GPU_to_CPU';
  const sizes = reading.histogram(`vllm:kv_offload_${direction}_size`);
  const olderSizes = reading.histogram('vllm:kv_offload_size', { transfer_type });
  return [
    [
      reading.value(`vllm:kv_offload_${direction}_bytes`),
      reading.value(`vllm:kv_offload_${direction}_time`),
      sizes.count,
      sizes.sum,
    ],
    [
      reading.value('vllm:kv_offload_total_bytes', { transfer_type }),
      reading.value('vllm:kv_offload_total_time', { transfer_type }),
      olderSizes.count,
      olderSizes.sum,
    ],
  ];
}

describe('offloading', () => {
  it('has bytes, seconds and sizes of each direction in both forms, and the stores that were skipped', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: {
        load_bytes: 6 * MB,
        load_time: 0.5,
        load_size: [MB, 5 * MB],
        store_bytes: 40n * BigInt(MB),
        store_time: 2,
        store_size: [40n * BigInt(MB)],
        stores_skipped: 3,
      },
    });
    engine.recordSchedulerStats({
      kv_connector_stats: { ...IDLE, load_bytes: 300 * MB, load_time: 0.25, load_size: [300 * MB] },
    });
    const reading = await read();
    const load = [306 * MB, 0.75, 3, 306 * MB];
    const store = [40 * MB, 2, 1, 40 * MB];
    expect(moved(reading, 'load')).toEqual([load, load]);
    expect(moved(reading, 'store')).toEqual([store, store]);
    expect(reading.value('vllm:kv_offload_stores_skipped')).toBe(3);
    expect(reading.histogram('vllm:kv_offload_load_size').buckets).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(dropped()).toEqual({});
  });

  it('has all its series at zero from its first statistics on, and none before', async () => {
    const { engine, read } = startService();
    expect(offloadNames(await read())).toEqual([]);
    engine.recordSchedulerStats({ kv_connector_stats: { load_bytes: 0, store_bytes: 0 } });
    const reading = await read();
    expect(offloadNames(reading)).toHaveLength(10);
    expect([moved(reading, 'load'), moved(reading, 'store')].flat(2)).toEqual(
      Array.from({ length: 16 }, () => 0),
    );
    for (const name of [
      'vllm:kv_offload_total_bytes',
      'vllm:kv_offload_total_time',
      'vllm:kv_offload_size',
    ]) {
      expect(reading.points(name).map(({ attributes }) => attributes)).toEqual([
        { ...BASE, transfer_type: 'CPU_to_GPU' },
        { ...BASE, transfer_type: 'GPU_to_CPU' },
      ]);
    }
  });

  it('counts what cannot be right as nothing, and takes the rest', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: {
        load_bytes: -1,
        load_time: '1',
        load_size: [Number.NaN, MB],
        store_bytes: MB,
        store_time: 1,
        store_size: 5,
        stores_skipped: -2,
      },
    });
    const reading = await read();
    const load = [0, 0, 1, MB];
    const store = [MB, 1, 0, 0];
    expect(moved(reading, 'load')).toEqual([load, load]);
    expect(moved(reading, 'store')).toEqual([store, store]);
    expect(reading.value('vllm:kv_offload_stores_skipped')).toBe(0);
    expect(dropped()).toEqual({ invalidValue: 4, malformedMessage: 1 });
  });

  it.each([
    ['no load_bytes', { ...IDLE, load_bytes: undefined }],
    ['no store_bytes', { ...IDLE, store_bytes: null }],
    ['load_bytes as text', { ...IDLE, load_bytes: '5' }],
    ['store_bytes as a list', { ...IDLE, store_bytes: [5] }],
  ])('is not what has %s', async (_, kv_connector_stats) => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ kv_connector_stats });
    expect(offloadNames(await read())).toEqual([]);
    expect(dropped()).toEqual({});
  });
});
