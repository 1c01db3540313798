import { context } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { CurrentEngines } from '../../src/metrics/live-engines.ts';
import { getRequest } from '../../src/request/request-context.ts';
import { collectUntil } from '../support/garbage.ts';
import { message, output } from '../support/messages.ts';
import { onSpanEnd } from '../support/on-span-end.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';
import { OWN_READERS, showThrough } from '../support/shown.ts';

const STATS = { num_running_reqs: 3, prefix_cache_stats: { queries: 10, hits: 4 } };

describe('removeEngine', () => {
  it('tells whether there was such an engine', () => {
    const { vllm } = startService();
    vllm.engine(3);
    expect([vllm.removeEngine(3), vllm.removeEngine(3), vllm.removeEngine(7)]).toEqual([true, false, false]);
    expect(vllm.engineIndices).toEqual([0]);
    expect(vllm.status().engines).toBe(1);
  });

  it.each([[-1], [0.5], [65_536], [Number.NaN], ['0'], [null], [undefined], [{}], [0n]])(
    'knows no engine %s',
    (index) => {
      const { vllm, dropped } = startService();
      expect(vllm.removeEngine(index as number)).toBe(false);
      expect(vllm.engineIndices).toEqual([0]);
      expect(dropped()).toEqual({});
    },
  );

  it('ends the requests in flight as aborts, their spans and choices too, and no others', () => {
    const { vllm, engine, traced } = startService();
    const other = engine.startRequest({ requestId: 'r' });
    const removed = vllm.engine(1);
    const requests = [
      removed.startRequest({ requestId: 'r' }),
      removed.startRequest({ requestId: 'r' }),
      removed.startRequest({ requestId: 'choices', n: 2 }),
    ];
    vllm.removeEngine(1);
    expect(requests.map(({ ended }) => ended)).toEqual([true, true, true]);
    expect(other.ended).toBe(false);
    const reasons = traced.spans.map(({ attributes }) => attributes['gen_ai.response.finish_reasons']);
    expect(reasons).toEqual([['abort'], ['abort'], ['abort'], ['abort', 'abort'], ['abort']]);
    expect(vllm.status().requestsInFlight).toBe(1);
    expect(requests[0]!.end('stop')).toBe(false);
  });

  it('from within, by whoever learns that a request of it has ended, removes it once, and not the one that comes back', async () => {
    let ends = 0;
    const processor = onSpanEnd(() => {
      ends += 1;
      if (ends === 2) vllm.removeEngine(0);
      if (ends === 3) vllm.engine(0);
    });
    const named = { modelName: 'removed-from-within' };
    const { vllm, engine, provider, read } = startService(named, { spanProcessors: [processor] });
    const other = new VllmInstrumentation(named);
    other.setMeterProvider(provider);
    other.engine(0);
    const told: string[] = [];
    vllm.watchEngines({
      engineAdded: ({ index }) => void told.push(`added ${index}`),
      engineRemoved: ({ index }) => void told.push(`removed ${index}`),
    });
    for (let count = 0; count < 3; count += 1) engine.startRequest();
    expect(vllm.removeEngine(0)).toBe(true);
    expect(told).toEqual(['added 0', 'removed 0', 'added 0']);
    expect(vllm.engineIndices).toEqual([0]);
    expect(vllm.engine(0)).not.toBe(engine);
    vllm.removeEngine(0);
    other.engine(0).startRequest().end();
    expect(endings(await read(), { model_name: 'removed-from-within' })).toEqual({ stop: 1 });
    expect(new CurrentEngines().have({ model_name: 'removed-from-within', engine: '0' })).toBe(true);
    other.removeEngine(0);
    expect(new CurrentEngines().have({ model_name: 'removed-from-within', engine: '0' })).toBe(false);
  });

  it('in the middle of a message leaves nothing of what comes behind: no request, and no series of statistics', async () => {
    const processor = onSpanEnd(() => vllm.removeEngine(1));
    const tracking = { trackUnknownRequests: true };
    const { vllm, traced, read } = startService(tracking, { spanProcessors: [processor] });
    vllm.engine(1);
    vllm.observe({
      engine_index: 1,
      timestamp: 1,
      outputs: [output('a', 1, { finish_reason: 0 }), output('b', 1)],
      scheduler_stats: {
        spec_decoding_stats: { num_drafts: 1, num_draft_tokens: 1, num_accepted_tokens_per_pos: [1] },
      },
    });
    expect(vllm.engineIndices).toEqual([0]);
    const reasons = traced.spans.map(({ attributes }) => attributes['gen_ai.response.finish_reasons']);
    expect(reasons).toEqual([['stop'], ['abort']]);
    const { metrics } = await read();
    expect(metrics.map(({ descriptor }) => descriptor.name)).not.toContain(
      'vllm:spec_decode_num_accepted_tokens_per_pos',
    );
  });

  it('frees a LoRA adapter of a request in flight there', async () => {
    const { vllm, read, clock } = startService({ maxLoras: 4 });
    for (const index of [0, 1]) {
      vllm
        .engine(index)
        .startRequest({ loraName: `adapter-${index}` })
        .recordEvent('scheduled');
    }
    clock.wall = 2000;
    vllm.removeEngine(1);
    expect((await read()).points('vllm:lora_requests_info')).toMatchObject([
      {
        attributes: { max_lora: '4', waiting_lora_adapters: '', running_lora_adapters: 'adapter-0' },
        value: 2000,
      },
    ]);
  });

  it('works while the instrumentation is disabled', async () => {
    const { vllm, read } = startService({ modelName: 'disabled' });
    vllm.engine(1);
    vllm.disable();
    expect(vllm.removeEngine(1)).toBe(true);
    vllm.enable();
    vllm.observe({ engine_index: 1, scheduler_stats: STATS });
    const engines = (await read()).points('vllm:num_requests_running').map(({ attributes }) => attributes);
    expect(engines).toContainEqual({ model_name: 'disabled', engine: '0' });
    expect(vllm.engineIndices).toEqual([0]);
  });

  it('leaves nothing of the engine in memory, its requests and series neither', async () => {
    const { vllm, read } = startService({ trackUnknownRequests: true, maxLoras: 1 });
    const references = await (async () => {
      const engine = vllm.engine(1);
      const request = engine.startRequest({ loraName: 'adapter' });
      engine.recordCacheConfig({ block_size: 16 });
      vllm.observe({
        ...message(1, output('unknown', 1), output('ended', 1, { finish_reason: 0 })),
        engine_index: 1,
        scheduler_stats: {
          ...STATS,
          spec_decoding_stats: { num_spec_tokens: 2 },
          num_kv_fetch_reqs_by_stage: {},
          kv_connector_stats: { load_bytes: 1, store_bytes: 1 },
        },
      });
      await read();
      return [new WeakRef<object>(engine), new WeakRef<object>(request)];
    })();
    vllm.removeEngine(1);
    await collectUntil(() => references.every((reference) => reference.deref() === undefined));
    expect(vllm.status().requestsInFlight).toBe(0);
    await read();
  });
});

describe('a removed engine', () => {
  it('is not brought back by its messages, which are counted', async () => {
    const { vllm, read, dropped } = startService({ modelName: 'trailing' });
    vllm.engine(1).startRequest({ requestId: 'r' });
    vllm.removeEngine(1);
    vllm.observe({ ...message(1, output('r', 1)), engine_index: 1, scheduler_stats: STATS });
    vllm.observe({ engine_index: 1, finished_requests: ['r'] });
    vllm.observe({ engine_index: 1, engine_dead: true });
    expect(vllm.engineIndices).toEqual([0]);
    expect((await read()).points('vllm:num_requests_running').map(({ value }) => value)).not.toContain(3);
    expect(dropped()).toEqual({ removedEngine: 2 });
  });

  it('has a handle that goes on working and records nothing, each use counted', async () => {
    const service = startService({ modelName: 'old handle', maxLoras: 1 });
    const { vllm, traced, dropped } = service;
    const show = await showThrough(vllm, 'VllmPrometheusExporter');
    const old = vllm.engine(1);
    vllm.removeEngine(1);
    old.recordSchedulerStats(STATS);
    old.recordCacheConfig({ block_size: 16 });
    old.recordSleep(1);
    old.recordWake();
    old.recordMultiModalCacheStats({ queries: 1, hits: 1 });
    expect(old.index).toBe(1);
    expect(dropped()).toEqual({ removedEngine: 5 });

    const request = old.startRequest({ requestId: 'r', loraName: 'adapter' });
    expect(request.engineIndex).toBe(1);
    request.run(() => expect(getRequest(context.active())).toBe(request));
    expect(request.recordEvent('scheduled')).toBe(true);
    expect(request.recordPreemption()).toBe(true);
    expect(request.recordTokens(3)).toBe(true);
    expect(request.numPreemptions).toBe(1);
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(request.end('length')).toBe(true);
    expect(request.end('length')).toBe(false);
    expect(traced.spans).toEqual([]);
    expect(dropped()).toEqual({ removedEngine: 6 });

    vllm.engine(1);
    const shown = await show();
    const engine1 = (name: string): unknown[] =>
      shown.series(name).flatMap(([{ engine }, value]) => (engine === '1' ? [value] : []));
    expect(engine1('vllm:num_requests_running')).toEqual([0]);
    expect(engine1('vllm:request_num_preemptions')).toEqual([0]);
    expect(engine1('vllm:request_success')).toEqual([0, 0, 0, 0, 0]);
    expect(engine1('vllm:cache_config_info')).toEqual([]);
    expect(
      shown.series('vllm:lora_requests_info').map(([labels]) => labels['running_lora_adapters']),
    ).toEqual(['']);
  });

  it('comes back as another, by engine(index), with its counters at zero', async () => {
    const { vllm, read, dropped } = startService();
    const old = vllm.engine(1);
    vllm.observe({ engine_index: 1, scheduler_stats: STATS });
    old.startRequest().end('stop');
    old.recordSleep(2);
    await read();
    vllm.removeEngine(1);
    const back = vllm.engine(1);
    expect(back).not.toBe(old);
    expect(vllm.engine(1)).toBe(back);
    const labels = { engine: '1' };
    const atZero = await read();
    expect(atZero.value('vllm:num_requests_running', labels)).toBe(0);
    expect(atZero.value('vllm:prefix_cache_hits', labels)).toBe(0);
    expect(atZero.value('vllm:request_success', { ...labels, finished_reason: 'stop' })).toBe(0);
    expect(atZero.value('vllm:engine_sleep_state', { ...labels, sleep_state: 'awake' })).toBe(1);
    vllm.observe({ engine_index: 1, scheduler_stats: STATS });
    const reading = await read();
    expect(reading.value('vllm:num_requests_running', labels)).toBe(3);
    expect(reading.value('vllm:prefix_cache_hits', labels)).toBe(4);
    expect(dropped()).toEqual({});
    old.recordSchedulerStats({ num_running_reqs: 50 });
    expect((await read()).value('vllm:num_requests_running', labels)).toBe(3);
    expect(dropped()).toEqual({ removedEngine: 1 });
  });

  it('comes back by adopt, too, which names it on purpose', () => {
    const { vllm, traced } = startService();
    vllm.engine(1);
    vllm.removeEngine(1);
    const request = vllm.adopt(traced.tracer.startSpan('GET /'), { engine: 1 });
    expect(vllm.engineIndices).toEqual([0, 1]);
    expect(vllm.status().requestsInFlight).toBe(1);
    request.end();
  });

  it('makes room for another: 4096 engines may be there at a time', () => {
    const { vllm, dropped } = startService();
    for (let index = 1; index < 4096; index += 1) vllm.engine(index);
    vllm.observe({ engine_index: 4096, scheduler_stats: {} });
    expect(dropped()).toEqual({ invalidEngineIndex: 1 });
    vllm.removeEngine(17);
    vllm.observe({ engine_index: 4096, scheduler_stats: {} });
    expect(vllm.engine(4096).index).toBe(4096);
    expect(() => vllm.engine(17)).toThrow(TypeError);
    vllm.observe({ engine_index: 17, scheduler_stats: {} });
    expect(vllm.status().engines).toBe(4096);
    expect(dropped()).toEqual({ invalidEngineIndex: 1, removedEngine: 1 });
    vllm.removeEngine(4096);
    expect(vllm.engine(17).index).toBe(17);
  });
});

describe('two instrumentations that know the same engine of the same model', () => {
  it.each(OWN_READERS)('keep its series until both have removed it: %s', async (kind) => {
    const modelName = `shared, ${kind}`;
    const first = startService({ modelName });
    const second = startService({ modelName });
    const show = await showThrough(first.vllm, kind);
    const shown = async (name: string): Promise<unknown> => (await show()).series(name);
    second.vllm.setMeterProvider(startService().provider);
    const running = [[{ model_name: modelName, engine: '0' }, 2]];
    first.engine.recordSchedulerStats({ num_running_reqs: 2 });
    expect(await shown('vllm:num_requests_running')).toEqual(running);
    second.vllm.removeEngine(0);
    expect(await shown('vllm:num_requests_running')).toEqual(running);
    second.vllm.engine(0);
    first.vllm.removeEngine(0);
    expect(await shown('vllm:num_requests_running')).toEqual([]);
  });

  it('on one provider show the numbers of the one that is left', async () => {
    const modelName = 'one provider';
    const { vllm, engine, provider, read } = startService({ modelName });
    const other = new VllmInstrumentation({ modelName });
    other.setMeterProvider(provider);
    engine.recordSchedulerStats({ prefix_cache_stats: { hits: 5 } });
    other.engine(0).recordSchedulerStats({ prefix_cache_stats: { hits: 3 } });
    const hits = async (): Promise<unknown[]> =>
      (await read()).points('vllm:prefix_cache_hits').map(({ value }) => value);
    expect(await hits()).toEqual([8]);
    vllm.removeEngine(0);
    expect(await hits()).toEqual([3]);
    vllm.observe({ scheduler_stats: { prefix_cache_stats: { hits: 100 } } });
    other.observe({ scheduler_stats: { prefix_cache_stats: { hits: 1 } } });
    expect(await hits()).toEqual([4]);
  });
});
