import { describe, expect, it } from 'vitest';
import { BASE, type Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const TIME = 'vllm:mooncake_store_operation_time_seconds';
const OPERATIONS = 'vllm:mooncake_store_operation';
const COUNTERS = ['', '_keys', '_bytes', '_failed_keys'].map((suffix) => OPERATIONS + suffix);

const OK = { duration_seconds: 0.25, num_keys: 8, num_bytes: 4096, status: 'ok', num_failed_keys: 0 };

const mooncakeNames = ({ names }: Reading): string[] => names.filter((name) => name.includes('mooncake'));

/** Operations, keys, bytes and failed keys of one operation with one status. */
function counted(reading: Reading, operation: string, status: string): number[] {
  return COUNTERS.map((name) => reading.value(name, { operation, status }));
}

describe('the Mooncake store', () => {
  it('has its operations counted and timed by kind and status', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: {
        save_put: [
          OK,
          { ...OK, duration_seconds: 0.5, num_keys: 2n, num_bytes: 1024n },
          { ...OK, status: 'partial_failure', num_failed_keys: 3 },
        ],
        load_get: [{ ...OK, status: 'error', num_bytes: 0, num_failed_keys: 8 }],
      },
    });
    engine.recordSchedulerStats({
      kv_connector_stats: { save_put: [OK], save_exists: [OK], lookup_exists: [OK] },
    });
    const reading = await read();
    expect(counted(reading, 'save_put', 'ok')).toEqual([3, 18, 9216, 0]);
    expect(counted(reading, 'save_put', 'partial_failure')).toEqual([1, 8, 4096, 3]);
    expect(counted(reading, 'load_get', 'error')).toEqual([1, 8, 0, 8]);
    expect(counted(reading, 'save_exists', 'ok')).toEqual([1, 8, 4096, 0]);
    expect(counted(reading, 'lookup_exists', 'ok')).toEqual([1, 8, 4096, 0]);
    expect(reading.histogram(TIME, { operation: 'save_put', status: 'ok' })).toEqual({
      count: 3,
      sum: 1,
      buckets: [0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    });
    expect(reading.histogram(TIME, { operation: 'load_get', status: 'error' })).toMatchObject({ count: 1 });
    expect(dropped()).toEqual({});
  });

  it('has a series for each operation and status once it was seen, and no other', async () => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: { save_put: [], load_get: [] } });
    expect(mooncakeNames(await read())).toEqual([]);
    engine.recordSchedulerStats({
      kv_connector_stats: { load_get: [OK], save_put: [{ ...OK, status: 'error' }] },
    });
    const reading = await read();
    for (const name of [TIME, ...COUNTERS]) {
      expect(reading.points(name).map(({ attributes }) => attributes)).toEqual([
        { ...BASE, operation: 'save_put', status: 'error' },
        { ...BASE, operation: 'load_get', status: 'ok' },
      ]);
    }
  });

  it('knows no further operation', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: { delete: [OK], load_get: [OK] } });
    engine.recordSchedulerStats({ kv_connector_stats: { delete: [OK] } });
    const points = (await read()).points(OPERATIONS);
    expect(points.map(({ attributes, value }) => [attributes['operation'], value])).toEqual([
      ['load_get', 1],
    ]);
    expect(dropped()).toEqual({});
  });

  it.each([['timeout'], [undefined], [null], [5], [{}], [['ok']], [Symbol('ok')], ['constructor']])(
    'leaves out and counts an operation whose status is %s, and takes its neighbours',
    async (status) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({ kv_connector_stats: { load_get: [{ ...OK, status }, OK] } });
      const reading = await read();
      expect(reading.points(OPERATIONS)).toHaveLength(1);
      expect(counted(reading, 'load_get', 'ok')).toEqual([1, 8, 4096, 0]);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it('counts an operation of which nothing but the status can be right', async () => {
    const { engine, read, dropped } = startService();
    const bad = { duration_seconds: -1, num_keys: Number.NaN, num_bytes: '5', num_failed_keys: -1n };
    engine.recordSchedulerStats({
      kv_connector_stats: { load_get: [{ ...bad, status: 'ok' }, { status: 'ok' }, OK] },
    });
    const reading = await read();
    expect(counted(reading, 'load_get', 'ok')).toEqual([3, 8, 4096, 0]);
    expect(reading.histogram(TIME, { operation: 'load_get', status: 'ok' })).toMatchObject({
      count: 1,
      sum: 0.25,
    });
    expect(dropped()).toEqual({ invalidValue: 4 });
  });

  it('loses no operation to what is none beside it', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({
      kv_connector_stats: { load_get: [5, null, 'ok', OK], save_put: 7, save_exists: null },
    });
    const reading = await read();
    expect(reading.points(OPERATIONS)).toHaveLength(1);
    expect(counted(reading, 'load_get', 'ok')).toEqual([1, 8, 4096, 0]);
    expect(dropped()).toEqual({ malformedMessage: 3 });
  });
});
