import { describe, expect, it } from 'vitest';
import {
  CurrentEngines,
  engineAdded,
  engineRemoved,
  withoutRemovedEngines,
} from '../../src/metrics/live-engines.ts';
import { startService, type Service } from '../support/service.ts';
import { OWN_READERS, showThrough, type ReaderKind, type Shown } from '../support/shown.ts';

const METRICS = [
  'vllm:num_requests_running',
  'vllm:prefix_cache_hits',
  'vllm:request_success',
  'vllm:request_num_preemptions',
  'vllm:engine_sleep_state',
  'vllm:cache_config_info',
  'vllm:num_requests_kv_fetch_by_stage',
  'vllm:nixl_num_failed_transfers',
  'vllm:mooncake_store_operation_time_seconds',
];

interface Observed extends Service {
  readonly labels: { readonly model_name: string; readonly engine: '1' };
  /** The values of the series of engine 1, by metric, those without a series left out. */
  show(): Promise<Record<string, number[]>>;
}

/** A service with engine 1 beside engine 0, whose series a reader shows. */
async function startObserved(kind: ReaderKind, test: string): Promise<Observed> {
  // Which engines there are is known per process and model: no two tests may share one.
  const modelName = `${test}: ${kind}`;
  const service = startService({ modelName });
  const show = await showThrough(service.vllm, kind);
  service.vllm.engine(1);
  return {
    ...service,
    labels: { model_name: modelName, engine: '1' },
    show: async () => ofEngine1(await show()),
  };
}

function ofEngine1(shown: Shown): Record<string, number[]> {
  const entries = METRICS.map((name): [string, number[]] => [
    name,
    shown.series(name).flatMap(([{ engine }, value]) => (engine === '1' ? [value] : [])),
  ]);
  return Object.fromEntries(entries.filter(([, values]) => values.length > 0));
}

/** Makes all kinds of series move: 2 running, 3 hits, one request stopped and one in flight. */
function work({ vllm }: Service): void {
  const engine = vllm.engine(1);
  engine.startRequest().end('stop');
  engine.startRequest();
  engine.recordCacheConfig({ block_size: 16 });
  engine.recordSchedulerStats({
    num_running_reqs: 2,
    prefix_cache_stats: { hits: 3 },
    num_kv_fetch_reqs_by_stage: { in_progress: 1 },
    kv_connector_stats: {
      NixlConnector: NIXL,
      Mooncake: { load_get: [{ status: 'ok', duration_seconds: 1 }] },
    },
  });
}

const NIXL = {
  transfer_duration: [],
  post_duration: [],
  bytes_transferred: [],
  num_descriptors: [],
  num_failed_transfers: [4],
  num_failed_notifications: [],
  num_kv_expired_reqs: [],
};

const AT_WORK = {
  'vllm:num_requests_running': [2],
  'vllm:prefix_cache_hits': [3],
  'vllm:request_success': [1, 0, 0, 0, 0],
  'vllm:request_num_preemptions': [1],
  'vllm:engine_sleep_state': [1, 0, 0],
  'vllm:cache_config_info': [1],
  'vllm:num_requests_kv_fetch_by_stage': [0, 1, 0],
  'vllm:nixl_num_failed_transfers': [4],
  'vllm:mooncake_store_operation_time_seconds': [1],
};

describe.each(OWN_READERS)('the series of a removed engine, in %s,', (kind) => {
  it('are in no collection from the removal on, whatever was collected before', async () => {
    const service = await startObserved(kind, 'collected before');
    work(service);
    expect(await service.show()).toEqual(AT_WORK);
    service.vllm.removeEngine(1);
    expect(await service.show()).toEqual({});
    expect(await service.show()).toEqual({});
  });

  it('are in none where they never were in one: what the last collection lacked is lost', async () => {
    const service = await startObserved(kind, 'never collected');
    work(service);
    service.vllm.removeEngine(1);
    expect(await service.show()).toEqual({});
  });

  it('leave those of the other engines', async () => {
    const service = await startObserved(kind, 'others');
    const show = await showThrough(service.vllm, kind);
    const running = async (): Promise<unknown> => (await show()).series('vllm:num_requests_running');
    const of = (engine: string, value: number): unknown => [{ ...service.labels, engine }, value];
    for (const index of [0, 1, 10])
      service.vllm.engine(index).recordSchedulerStats({ num_running_reqs: index });
    expect(await running()).toEqual([of('0', 0), of('1', 1), of('10', 10)]);
    service.vllm.removeEngine(1);
    expect(await running()).toEqual([of('0', 0), of('10', 10)]);
  });

  it('come back with the engine: counters and gauges at zero', async () => {
    const service = await startObserved(kind, 'back');
    work(service);
    await service.show();
    service.vllm.removeEngine(1);
    await service.show();
    service.vllm.engine(1);
    expect(await service.show()).toMatchObject({
      'vllm:num_requests_running': [0],
      'vllm:prefix_cache_hits': [0],
      'vllm:request_success': [0, 0, 0, 0, 0],
      'vllm:engine_sleep_state': [1, 0, 0],
    });
    service.vllm.engine(1).recordSchedulerStats({ prefix_cache_stats: { hits: 2 } });
    service.vllm.engine(1).startRequest().end('length');
    expect(await service.show()).toMatchObject({
      'vllm:prefix_cache_hits': [2],
      'vllm:request_success': [0, 1, 0, 0, 0],
    });
  });

  it('come back, optional gauges only with what tells of them', async () => {
    const service = await startObserved(kind, 'optional gauges');
    work(service);
    await service.show();
    service.vllm.removeEngine(1);
    await service.show();
    service.vllm.engine(1);
    const names = Object.keys(await service.show());
    expect(names).not.toContain('vllm:cache_config_info');
    expect(names).not.toContain('vllm:num_requests_kv_fetch_by_stage');
  });
});

describe('the histograms of an engine that comes back', () => {
  it.each<[ReaderKind, number]>([
    ['VllmPrometheusExporter', 3],
    ['ConfirmingMetricReader, cumulative', 3],
    ['the SDK, cumulative', 3],
    ['ConfirmingMetricReader, delta', 1],
    ['the SDK, delta', 1],
  ])(
    'go on where they stood where they are cumulative, aborts of the removal included, since the SDK forgets none: %s',
    async (kind, samples) => {
      const service = await startObserved(kind, 'histograms');
      work(service);
      await service.show();
      service.vllm.removeEngine(1);
      await service.show();
      service.vllm.engine(1).startRequest().end('stop');
      expect((await service.show())['vllm:request_num_preemptions']).toEqual([samples]);
    },
  );
});

describe('the optional counters of an engine that comes back', () => {
  it.each<[ReaderKind, number[] | undefined]>([
    ['VllmPrometheusExporter', [4]],
    ['ConfirmingMetricReader, cumulative', [4]],
    ['the SDK, cumulative', [4]],
    ['ConfirmingMetricReader, delta', undefined],
    ['the SDK, delta', undefined],
  ])(
    'are as the SDK remembers them where they are cumulative, until something tells of them: %s',
    async (kind, remembered) => {
      const service = await startObserved(kind, 'optional counters');
      work(service);
      await service.show();
      service.vllm.removeEngine(1);
      await service.show();
      const failed = async (): Promise<number[] | undefined> =>
        (await service.show())['vllm:nixl_num_failed_transfers'];
      service.vllm.engine(1);
      expect(await failed()).toEqual(remembered);
      const once = { ...NIXL, num_failed_transfers: [1] };
      service.vllm.engine(1).recordSchedulerStats({ kv_connector_stats: once });
      expect(await failed()).toEqual([1]);
    },
  );
});

describe('the series of a removed engine, in the readers of the SDK itself,', () => {
  it('stay with cumulative temporality: numbers as last collected, histograms with the aborts of the removal', async () => {
    const service = await startObserved('the SDK, cumulative', 'cumulative');
    work(service);
    await service.show();
    service.vllm.engine(1).recordSchedulerStats({ num_running_reqs: 50, prefix_cache_stats: { hits: 50 } });
    service.vllm.removeEngine(1);
    const expected = { ...AT_WORK, 'vllm:request_num_preemptions': [2] };
    expect(await service.show()).toEqual(expected);
    expect(await service.show()).toEqual(expected);
  });

  it('vanish with delta temporality, once the aborts of the removal are out', async () => {
    const service = await startObserved('the SDK, delta', 'delta');
    work(service);
    await service.show();
    service.vllm.removeEngine(1);
    expect(await service.show()).toEqual({ 'vllm:request_num_preemptions': [1] });
    expect(await service.show()).toEqual({});
  });
});

describe('withoutRemovedEngines', () => {
  const at = (model_name: string, engine: string): { attributes: Record<string, string> } => ({
    attributes: { model_name, engine },
  });

  it('keeps the points of the engines that are known, by model and index', () => {
    engineAdded({ model_name: 'a', engine: '0' });
    engineAdded({ model_name: 'b', engine: '1' });
    const points = [at('a', '0'), at('a', '1'), at('b', '0'), at('b', '1'), at('c', '0')];
    expect(withoutRemovedEngines(points)).toEqual([at('a', '0'), at('b', '1')]);
    engineRemoved({ model_name: 'a', engine: '0' });
    expect(withoutRemovedEngines(points)).toEqual([at('b', '1')]);
    engineRemoved({ model_name: 'b', engine: '1' });
    expect(withoutRemovedEngines(points)).toEqual([]);
  });

  it('knows an engine as long as anyone does, and further removals change nothing', () => {
    const labels = { model_name: 'shared', engine: '0' };
    const points = [at('shared', '0')];
    for (const change of [engineAdded, engineAdded, engineRemoved]) change(labels);
    expect(withoutRemovedEngines(points)).toEqual(points);
    for (const change of [engineRemoved, engineRemoved, engineRemoved]) change(labels);
    expect(withoutRemovedEngines(points)).toEqual([]);
    engineAdded(labels);
    expect(withoutRemovedEngines(points)).toEqual(points);
    engineRemoved(labels);
  });

  it('keeps points that are of no engine, or of no model', () => {
    const points = [
      { attributes: {} },
      { attributes: { engine: '0', block_size: '16' } },
      { attributes: { model_name: 'nobody', mode: 'streaming' } },
    ];
    expect(withoutRemovedEngines(points)).toEqual(points);
  });

  it('gives the same list where nothing is to go, so that nothing is copied', () => {
    engineAdded({ model_name: 'same', engine: '0' });
    const points = [at('same', '0'), { attributes: { max_lora: '1' } }];
    expect(withoutRemovedEngines(points)).toBe(points);
    engineRemoved({ model_name: 'same', engine: '0' });
  });
});

describe('CurrentEngines', () => {
  it('are those of the moment when it was asked, whatever comes or goes later', () => {
    const [stays, leaves, arrives] = ['0', '1', '2'].map((engine) => ({ model_name: 'moment', engine }));
    engineAdded(stays!);
    engineAdded(leaves!);
    const engines = new CurrentEngines();
    engineRemoved(leaves!);
    engineAdded(arrives!);
    expect([stays!, leaves!, arrives!, {}].map((attributes) => engines.have(attributes))).toEqual([
      true,
      true,
      false,
      true,
    ]);
    const later = new CurrentEngines();
    expect([stays!, leaves!, arrives!].map((attributes) => later.have(attributes))).toEqual([
      true,
      false,
      true,
    ]);
    engineRemoved(stays!);
    engineRemoved(arrives!);
  });
});
