import { describe, expect, it } from 'vitest';
import type { SchedulerStats } from '../../src/engine/messages.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

type Payload = Readonly<Record<string, unknown>>;

const NIXL: Payload = {
  transfer_duration: [0.5],
  post_duration: [],
  bytes_transferred: [],
  num_descriptors: [],
  num_failed_transfers: [2],
  num_failed_notifications: [],
  num_kv_expired_reqs: [],
};
const MOONCAKE: Payload = { load_get: [{ status: 'ok', num_keys: 3 }] };
const OFFLOADING: Payload = { load_bytes: 5, store_bytes: 7 };

/** Failed NIXL transfers, keys got from the Mooncake store, offloaded bytes; undefined without a series. */
function recorded(reading: Reading): (number | undefined)[] {
  const valueOf = (name: string, labels = {}): number | undefined =>
    reading.names.includes(name) ? reading.value(name, labels) : undefined;
  return [
    valueOf('vllm:nixl_num_failed_transfers'),
    valueOf('vllm:mooncake_store_operation_keys', { operation: 'load_get', status: 'ok' }),
    valueOf('vllm:kv_offload_store_bytes'),
  ];
}

const NOTHING = [undefined, undefined, undefined];

describe('the statistics of KV connectors', () => {
  it.each<[string, Payload, (number | undefined)[]]>([
    ['NIXL', NIXL, [2, undefined, undefined]],
    ['NIXL as data', { data: NIXL }, [2, undefined, undefined]],
    ['NIXL by its class', { NixlConnector: NIXL }, [2, undefined, undefined]],
    ['NIXL by its class as data', { NixlConnector: { data: NIXL } }, [2, undefined, undefined]],
    ['NIXL by another class', { NixlPullConnector: NIXL }, [2, undefined, undefined]],
    ['Mooncake', MOONCAKE, [undefined, 3, undefined]],
    ['Mooncake as data', { data: MOONCAKE }, [undefined, 3, undefined]],
    ['Mooncake by its class', { MooncakeStoreConnector: MOONCAKE }, [undefined, 3, undefined]],
    ['offloading', OFFLOADING, [undefined, undefined, 7]],
    ['offloading as data', { data: OFFLOADING }, [undefined, undefined, 7]],
    ['offloading by its class', { OffloadingConnector: { data: OFFLOADING } }, [undefined, undefined, 7]],
    [
      'several by their classes, bare and as data',
      { NixlConnector: { data: NIXL }, MooncakeStoreConnector: MOONCAKE, OffloadingConnector: OFFLOADING },
      [2, 3, 7],
    ],
    [
      'several by their classes, all as data',
      { data: { NixlConnector: { data: NIXL }, OffloadingConnector: { data: OFFLOADING } } },
      [2, undefined, 7],
    ],
    ['NIXL twice', { NixlPullConnector: NIXL, NixlPushConnector: { data: NIXL } }, [4, undefined, undefined]],
  ])('are told by their content: %s', async (_, kv_connector_stats, expected) => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ kv_connector_stats });
    expect(recorded(await read())).toEqual(expected);
    expect(dropped()).toEqual({});
  });

  it('add up however they come, in messages or by recordSchedulerStats', async () => {
    const { vllm, engine, read } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: NIXL });
    vllm.observe({ scheduler_stats: { kv_connector_stats: { data: NIXL } } });
    vllm.observe({ scheduler_stats: { kv_connector_stats: { NixlConnector: NIXL } } });
    expect(recorded(await read())).toEqual([6, undefined, undefined]);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['an empty map', {}],
    ['an unknown connector', { hits: [1, 2], misses: 3 }],
    ['an unknown connector by its class', { LMCacheConnector: { data: { retrieve_time: [1] } } }],
    ['no payloads by class names', { NixlConnector: 5, OffloadingConnector: 'x', other: null, more: [NIXL] }],
    ['a payload too deep down', { MultiConnector: { Inner: { NixlConnector: NIXL } } }],
    ['data that is none', { data: 5 }],
    ['NIXL with one list missing', { ...NIXL, post_duration: undefined }],
    ['an empty list', []],
  ])('of which nothing can be told move nothing, and are no mistake: %s', async (_, stats) => {
    const { engine, read, dropped } = startService();
    const before = (await read()).names;
    engine.recordSchedulerStats({ kv_connector_stats: stats as SchedulerStats['kv_connector_stats'] });
    const reading = await read();
    expect(recorded(reading)).toEqual(NOTHING);
    expect(reading.names).toEqual(before);
    expect(dropped()).toEqual({});
  });

  it.each<[unknown]>([[5], ['NixlConnector'], [true], [Symbol('nixl')]])(
    'that are no map are counted, the rest taken: %s',
    async (stats) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({
        num_running_reqs: 3,
        kv_connector_stats: stats as SchedulerStats['kv_connector_stats'],
        perf_stats: { num_flops_per_gpu: 7 },
      });
      const reading = await read();
      expect(recorded(reading)).toEqual(NOTHING);
      expect(reading.value('vllm:num_requests_running')).toBe(3);
      expect(reading.value('vllm:estimated_flops_per_gpu')).toBe(7);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('of an unknown connector cost a known one beside it nothing', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: { Other: { a: 1 }, NixlConnector: NIXL, More: 5 } });
    expect(recorded(await read())).toEqual([2, undefined, undefined]);
    expect(dropped()).toEqual({});
  });

  it("are each engine's own", async () => {
    const { vllm, engine, read } = startService();
    engine.recordSchedulerStats({ kv_connector_stats: NIXL });
    vllm.engine(1).recordSchedulerStats({ kv_connector_stats: OFFLOADING });
    const reading = await read();
    const enginesOf = (name: string): unknown[] =>
      reading.points(name).map(({ attributes, value }) => [attributes['engine'], value]);
    expect(enginesOf('vllm:nixl_num_failed_transfers')).toEqual([['0', 2]]);
    expect(enginesOf('vllm:kv_offload_store_bytes')).toEqual([['1', 7]]);
  });
});
