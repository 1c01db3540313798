import { describe, expect, it } from 'vitest';
import type { Reading } from '../support/reading.ts';
import { BASE } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const TIME = 'vllm:nixl_xfer_time_seconds';
const POST_TIME = 'vllm:nixl_post_time_seconds';
const BYTES = 'vllm:nixl_bytes_transferred';
const DESCRIPTORS = 'vllm:nixl_num_descriptors';
const COUNTERS = ['failed_transfers', 'failed_notifications', 'kv_expired_reqs'].map(
  (what) => `vllm:nixl_num_${what}`,
);

const EMPTY = {
  transfer_duration: [],
  post_duration: [],
  bytes_transferred: [],
  num_descriptors: [],
  num_failed_transfers: [],
  num_failed_notifications: [],
  num_kv_expired_reqs: [],
};

const nixlNames = ({ names }: Reading): string[] => names.filter((name) => name.includes('nixl')).toSorted();

describe('NIXL', () => {
  it('puts a sample of each transfer into the histograms, and adds the failures up', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: {
        ...EMPTY,
        transfer_duration: [0.25, 0.5, 8],
        post_duration: [0.002, 0.5],
        bytes_transferred: [2048, 2 ** 34, 4096n],
        num_descriptors: [10, 400, 100_000],
        num_failed_transfers: [1, 2n],
        num_failed_notifications: [4],
        num_kv_expired_reqs: [1, 1, 1],
      },
    });
    engine.recordSchedulerStats({
      kv_connector_stats: { ...EMPTY, transfer_duration: [0.75], num_failed_transfers: [5] },
    });
    const reading = await read();
    expect(reading.histogram(TIME)).toEqual({
      count: 4,
      sum: 9.5,
      buckets: [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1],
    });
    expect(reading.histogram(POST_TIME)).toMatchObject({ count: 2, sum: 0.502 });
    expect(reading.histogram(BYTES)).toEqual({
      count: 3,
      sum: 2 ** 34 + 6144,
      buckets: [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    });
    expect(reading.histogram(DESCRIPTORS)).toMatchObject({ count: 3, sum: 100_410 });
    expect(COUNTERS.map((name) => reading.value(name))).toEqual([8, 4, 3]);
    expect(dropped()).toEqual({});
  });

  it('has all its series at zero from its first statistics on, and none before', async () => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: {} });
    expect(nixlNames(await read())).toEqual([]);
    engine.recordSchedulerStats({ kv_connector_stats: EMPTY });
    const reading = await read();
    expect(nixlNames(reading)).toEqual([TIME, POST_TIME, BYTES, DESCRIPTORS, ...COUNTERS].toSorted());
    for (const name of [TIME, POST_TIME, BYTES, DESCRIPTORS]) {
      expect(reading.histogram(name)).toMatchObject({ count: 0, sum: 0 });
    }
    for (const name of COUNTERS) {
      expect(reading.points(name).map(({ attributes, value }) => [attributes, value])).toEqual([[BASE, 0]]);
    }
  });

  it('leaves out and counts what cannot be right, and takes its neighbours', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: {
        ...EMPTY,
        transfer_duration: [-1, 0.5, Number.NaN, '1', {}],
        bytes_transferred: [2n ** 64n, 1024],
        num_failed_transfers: [-3, 2, Infinity],
      },
    });
    const reading = await read();
    expect(reading.histogram(TIME)).toMatchObject({ count: 1, sum: 0.5 });
    expect(reading.histogram(BYTES)).toMatchObject({ count: 1, sum: 1024 });
    expect(COUNTERS.map((name) => reading.value(name))).toEqual([2, 0, 0]);
    expect(dropped()).toEqual({ invalidValue: 7 });
  });

  it.each(Object.keys(EMPTY))('is told by all of its lists: without a list %s it is not', async (field) => {
    for (const value of [undefined, null, 5, '5', {}]) {
      const { engine, read, dropped } = startService();
      const stats = { ...EMPTY, num_failed_transfers: [1], num_kv_expired_reqs: [1], [field]: value };
      engine.recordSchedulerStats({ kv_connector_stats: stats });
      expect(nixlNames(await read())).toEqual([]);
      expect(dropped()).toEqual({});
    }
  });
});
