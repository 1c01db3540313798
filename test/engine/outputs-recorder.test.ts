import { describe, expect, it } from 'vitest';
import type { EngineCoreEvent, EngineCoreOutput, EngineCoreOutputs } from '../../src/engine/messages.ts';
import { collectUntil } from '../support/garbage.ts';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import { onSpanEnd } from '../support/on-span-end.ts';
import { all, counts, endings, PER_ENGINE_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

const ITERATION = 'vllm:iteration_tokens_total';
const GENERATED = 'vllm:generation_tokens';

const PREFILL = { num_prompt_tokens: 100, num_computed_tokens: 70, num_cached_tokens: 30 };

/** What is no output, event list or the like; none of these may cost another its sample. */
const GARBAGE: readonly unknown[] = [5, 'text', true, Symbol('odd'), () => {}, 7n];

describe('vllm:corrupted_requests', () => {
  it('counts an ended request once, however many steps had NaN in their logits', async () => {
    const { vllm, engine, read } = startService();
    for (const requestId of ['a', 'b', 'c']) engine.startRequest({ requestId });
    vllm.observe(message(1, output('a', 1, { num_nans_in_logits: 3 }), output('b', 1)));
    vllm.observe(
      message(2, output('a', 1, { num_nans_in_logits: 1 }), output('c', 1, { num_nans_in_logits: 0 })),
    );
    expect((await read()).value('vllm:corrupted_requests')).toBe(0);
    const last = { finish_reason: 0 };
    vllm.observe(message(3, output('a', 1, last), output('b', 1, last), output('c', 1, last)));
    expect((await read()).value('vllm:corrupted_requests')).toBe(1);
  });

  it.each([-1, Number.NaN, 0.5, '5', {}])('takes %s for no NaN at all, and counts it', async (count) => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const nans = { num_nans_in_logits: count as number, finish_reason: 0 };
    vllm.observe(message(1, output('r', 1, nans)));
    const reading = await read();
    expect(reading.value('vllm:corrupted_requests')).toBe(0);
    expect(endings(reading)).toEqual({ stop: 1 });
    expect(dropped()).toEqual({ invalidValue: 1 });
  });
});

describe('the outputs of a message', () => {
  it('go to the requests that they name', async () => {
    const { vllm, engine, read } = startService();
    const [a, b] = ['a', 'b'].map((requestId) => engine.startRequest({ requestId }));
    vllm.observe(
      message(
        10,
        output('b', 2, { events: [queued(1), scheduled(2), preempted(3)] }),
        output('a', 1, { finish_reason: 1 }),
      ),
    );
    expect([a!.ended, b!.ended]).toEqual([true, false]);
    expect([a!.numPreemptions, b!.numPreemptions]).toEqual([0, 1]);
    expect((await read()).value(GENERATED)).toBe(3);
  });

  it.each([
    [0, 'stop'],
    [1, 'length'],
    [2, 'abort'],
    [3, 'error'],
    [4, 'repetition'],
  ])('end a request with finish reason %i by %s', async (code, reason) => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1, { finish_reason: code })));
    expect(endings(await read())).toEqual({ [reason]: 1 });
  });

  it.each([[5], [-1], [0.5], [Number.NaN], ['stop'], ['length'], [{}], [true], [Symbol('stop')]])(
    'end a request with a finish reason that nobody knows by stop, and it is counted: %s',
    async (code) => {
      const { vllm, engine, read, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      vllm.observe(message(1, output('r', 1, { finish_reason: code as number })));
      expect(endings(await read())).toEqual({ stop: 1 });
      expect(dropped()).toEqual({ unknownFinishReason: 1 });
    },
  );

  it.each([[null], [undefined]])('let a request with finish reason %s go on', (code) => {
    const { vllm, engine } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1, { finish_reason: code })));
    expect(request.ended).toBe(false);
  });

  it('for ids that no live request has are counted as dropped and move nothing, those that ended lately apart', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const known = output('r', 1, { finish_reason: 0 });
    const events = [preempted(1)];
    vllm.observe(message(1, output('x', 5, { events, prefill_stats: PREFILL, finish_reason: 0 }), known));
    vllm.observe(message(2, known));
    const reading = await read();
    expect(reading.value(GENERATED)).toBe(1);
    expect(reading.value('vllm:num_preemptions')).toBe(0);
    expect(reading.value('vllm:prompt_tokens')).toBe(0);
    expect(endings(reading)).toEqual({ stop: 1 });
    expect(dropped()).toEqual({ unknownRequest: 1, afterEnd: 1 });
  });

  it.each<[string, EngineCoreOutput['new_token_ids'] | null, number]>([
    ['an array', [11, 12, 13], 3],
    ['a typed array', new Uint32Array(4), 4],
    ['anything with a length', { length: 5 }, 5],
    ['none', undefined, 0],
    ['null', null, 0],
    ['an empty array', [], 0],
  ])('count their tokens by their length: %s', async (_, tokens, count) => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, { request_id: 'r', new_token_ids: tokens as undefined }));
    const reading = await read();
    expect(reading.value(GENERATED)).toBe(count);
    expect(reading.histogram('vllm:time_to_first_token_seconds').count).toBe(count === 0 ? 0 : 1);
    expect(dropped()).toEqual({});
  });

  it.each([
    [{}],
    [5],
    [{ length: -1 }],
    [{ length: 1.5 }],
    [{ length: Number.NaN }],
    [{ length: Infinity }],
    [{ length: '3' }],
    [{ length: Symbol('3') }],
    [{ length: Object.create(null) }],
  ])('with tokens of no length count for none, and it is dropped: %j', async (tokens) => {
    const { vllm, engine, read, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    const new_token_ids = tokens as { length: number };
    vllm.observe(message(1, { request_id: 'r', new_token_ids, events: [preempted(1)], finish_reason: 1 }));
    expect(request.numPreemptions).toBe(1);
    const reading = await read();
    expect(reading.value(GENERATED)).toBe(0);
    expect(endings(reading)).toEqual({ length: 1 });
    expect(dropped()).toEqual({ invalidValue: 1 });
  });

  it.each([[0], [4], [-3], [1.5], ['3'], [null], [undefined], [{}], [Symbol('3')]])(
    'with an event of type %s, which nobody knows, lose that event alone',
    async (type) => {
      const { vllm, engine, read, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      const events = [preempted(1), { type: type as number, timestamp: 2 }, preempted(3)];
      vllm.observe(message(4, output('r', 1, { events, finish_reason: 0 })));
      expect((await read()).histogram('vllm:request_num_preemptions').sum).toBe(2);
      expect(dropped()).toEqual({ unknownEvent: 1 });
    },
  );

  it('ignore further keys of an event', () => {
    const { vllm, engine, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    const event = { ...preempted(1), reason: 'no blocks' };
    vllm.observe(message(1, output('r', 0, { events: [event] })));
    expect(request.numPreemptions).toBe(1);
    expect(dropped()).toEqual({});
  });

  it.each([[null], [undefined], [5], ['event'], [Symbol('event')]])(
    'with an event that is %s lose that event alone',
    async (event) => {
      const { vllm, engine, read, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      const events = [preempted(1), event as unknown as EngineCoreEvent, preempted(3)];
      vllm.observe(message(4, output('r', 1, { events, finish_reason: 0 })));
      expect((await read()).histogram('vllm:request_num_preemptions').sum).toBe(2);
      expect(dropped()).toEqual({ unknownEvent: 1 });
    },
  );

  it.each([...GARBAGE, {}].map((garbage) => [garbage]))(
    'whose events are no list lose the events alone, and it is counted: %s',
    async (garbage) => {
      const { vllm, engine, read, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      const events = garbage as EngineCoreEvent[];
      vllm.observe(message(4, output('r', 2, { events, finish_reason: 0 })));
      const reading = await read();
      expect(reading.value(GENERATED)).toBe(2);
      expect(endings(reading)).toEqual({ stop: 1 });
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('that are none cost the others nothing', async () => {
    const { vllm, engine, read, dropped } = startService();
    for (const requestId of ['a', 'b']) engine.startRequest({ requestId });
    const outputs = [
      output('a', 1, { finish_reason: 0 }),
      ...GARBAGE,
      null,
      undefined,
      {},
      { request_id: 5 },
      Object.create(null),
      output('b', 2, { finish_reason: 1 }),
    ];
    vllm.observe({ timestamp: 1, outputs: outputs as EngineCoreOutput[] }, 1001);
    const reading = await read();
    expect(endings(reading)).toEqual({ stop: 1, length: 1 });
    expect(reading.histogram(ITERATION)).toMatchObject({ count: 1, sum: 3 });
    expect(dropped()).toEqual({ malformedMessage: GARBAGE.length + 5 });
  });

  it('that throw when they are read cost the others nothing', async () => {
    const { vllm, engine, read, dropped } = startService();
    for (const requestId of ['a', 'b']) engine.startRequest({ requestId });
    const trap = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no such field');
        },
      },
    ) as EngineCoreOutput;
    vllm.observe(
      message(1, output('a', 1, { finish_reason: 0 }), trap, output('b', 1, { finish_reason: 0 })),
    );
    expect(endings(await read())).toEqual({ stop: 2 });
    expect(dropped()).toEqual({ malformedMessage: 1 });
  });

  it.each([...GARBAGE, {}].map((garbage) => [garbage]))(
    'that are no list are dropped and counted: %s',
    (garbage) => {
      const { vllm, dropped } = startService();
      vllm.observe({ timestamp: 1, outputs: garbage as EngineCoreOutput[] });
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('come in batches of 100,000 without a throw, each counted', async () => {
    const { vllm, engine, read, dropped } = startService();
    for (let id = 0; id < 1000; id += 1) engine.startRequest({ requestId: String(id) });
    const outputs = Array.from({ length: 100_000 }, (_, position) => output(String(position % 1000), 1));
    vllm.observe(message(1, ...outputs));
    vllm.observe(
      message(2, ...Array.from({ length: 1000 }, (_, id) => output(String(id), 1, { finish_reason: 1 }))),
    );
    const reading = await read();
    expect(reading.value(GENERATED)).toBe(101_000);
    expect(reading.histogram('vllm:inter_token_latency_seconds').count).toBe(100_000);
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 1000));
    expect(reading.histogram(ITERATION)).toMatchObject({ count: 2, sum: 101_000 });
    expect(dropped()).toEqual({});
  });
});

describe('a first output without prefill statistics, as from an engine of old that cached nothing', () => {
  it('counts the whole prompt as computed', async () => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r', promptTokens: 100 });
    vllm.observe(message(1, output('r', 2)));
    vllm.observe(message(2, output('r', 1)));
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(100);
    expect(reading.histogram('vllm:iteration_tokens_total')).toMatchObject({ count: 2, sum: 103 });
  });
});

describe('a last output of which something cannot be read', () => {
  it('ends its request all the same', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r' });
    const broken = Object.defineProperty(output('r', 2, { finish_reason: 1 }), 'events', {
      get: (): never => {
        throw new RangeError('truncated');
      },
    });
    vllm.observe(message(1, broken));
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({ malformedMessage: 1 });
  });
});

describe('an output of which something cannot be read', () => {
  const broken = <T extends object>(target: T, name: string): T =>
    Object.defineProperty(target, name, {
      get: (): never => {
        throw new RangeError('truncated');
      },
    });

  it.each(['finish_reason', 'events', 'prefill_stats', 'num_nans_in_logits'])(
    'keeps its tokens, for the engine and the iteration as for its request: %s',
    async (name) => {
      const { vllm, engine, read, dropped } = startService();
      for (const requestId of ['r', 's']) engine.startRequest({ requestId });
      vllm.observe(message(1, broken(output('r', 3), name), output('s', 1)));
      vllm.observe(message(2, output('r', 2, { finish_reason: 0 }), output('s', 1, { finish_reason: 0 })));
      const reading = await read();
      expect(reading.value(GENERATED)).toBe(7);
      expect(reading.histogram('vllm:request_generation_tokens')).toMatchObject({ count: 2, sum: 7 });
      expect(reading.histogram(ITERATION)).toMatchObject({ count: 2, sum: 7 });
      expect(reading.histogram('vllm:time_to_first_token_seconds').count).toBe(2);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('counts nothing of prefill statistics that cannot be read to the end', async () => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r' });
    const prefill = broken({ ...PREFILL }, 'num_external_cached_tokens');
    vllm.observe(message(1, output('r', 1, { prefill_stats: prefill })));
    vllm.observe(message(2, output('r', 1, { prefill_stats: PREFILL })));
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(70);
    expect(reading.histogram(ITERATION)).toMatchObject({ count: 2, sum: 72 });
    expect(reading.histogram('vllm:time_to_first_token_seconds').count).toBe(1);
  });
});

describe('the end of a request in the middle of a batch', () => {
  it('finds all that came before it recorded', () => {
    const seen: number[] = [];
    let readTokens = (): number => 0;
    const { vllm, engine } = startService({}, { spanProcessors: [onSpanEnd(() => seen.push(readTokens()))] });
    vllm.watchEngines({
      engineAdded: (watched) => {
        readTokens = () => watched.readStats().generationTokens;
      },
      engineRemoved: () => {},
    });
    for (const requestId of ['a', 'b', 'c']) engine.startRequest({ requestId });
    const last = { finish_reason: 0 };
    vllm.observe(message(1, output('a', 1), output('b', 2, last), output('c', 4), output('a', 8, last)));
    expect(seen).toEqual([3, 15]);
    expect(readTokens()).toBe(15);
  });
});

describe('vllm:iteration_tokens_total', () => {
  it('has the tokens of each message, also where one comes while the other ends a request', async () => {
    const within = [output('b', 2, { prefill_stats: { ...PREFILL, num_computed_tokens: 5 } })];
    const processor = onSpanEnd(() => vllm.observe(message(2, ...within)));
    const { vllm, engine, read } = startService({}, { spanProcessors: [processor] });
    const requests = ['a', 'b', 'c'].map((requestId) => engine.startRequest({ requestId }));
    vllm.observe(
      message(
        1,
        output('a', 1, { prefill_stats: { ...PREFILL, num_computed_tokens: 10 }, finish_reason: 0 }),
        output('c', 3, { prefill_stats: { ...PREFILL, num_computed_tokens: 20 } }),
      ),
    );
    const reading = await read();
    const { sum, buckets } = reading.histogram(ITERATION);
    expect(sum).toBe(7 + 34);
    expect(reading.boundaries(ITERATION).filter((_, bucket) => buckets[bucket] === 1)).toEqual([8, 64]);
    expect(reading.value(GENERATED)).toBe(6);
    expect(requests.map(({ ended }) => ended)).toEqual([true, false, false]);
  });

  it('has one sample per batch: computed prompt tokens of first outputs and generated tokens', async () => {
    const { vllm, engine, read } = startService();
    for (const requestId of ['a', 'b']) engine.startRequest({ requestId });
    vllm.observe(message(1, output('a', 1, { prefill_stats: PREFILL })));
    vllm.observe(
      message(2, output('a', 1, { prefill_stats: PREFILL }), output('b', 3, { prefill_stats: PREFILL })),
    );
    const reading = await read();
    expect(reading.histogram(ITERATION)).toMatchObject({ count: 2, sum: 71 + 74 });
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(140);
  });

  it.each<[string, EngineCoreOutputs, number]>([
    ['no outputs', {}, 0],
    ['an empty batch', { outputs: [] }, 0],
    ['an empty batch with statistics', { outputs: [], scheduler_stats: {} }, 0],
    ['a batch of events alone', { outputs: [output('r', 0, { events: [queued(1)] })] }, 1],
    ['a batch for nobody', { outputs: [output('x', 5)] }, 1],
  ])('has a sample only of a batch that holds an output: %s', async (_, batch, samples) => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe(batch);
    expect((await read()).histogram(ITERATION)).toMatchObject({ count: samples, sum: 0 });
  });
});

describe('finished_requests', () => {
  it.each<[string, Iterable<string>]>([
    ['a list', ['a', 'c', 'x']],
    ['a set', new Set(['a', 'c', 'x'])],
  ])('abort the requests that the engine let go without a last output: %s', async (_, finished_requests) => {
    const { vllm, engine, read, dropped } = startService();
    const requests = ['a', 'b', 'c'].map((requestId) => engine.startRequest({ requestId }));
    vllm.observe({ finished_requests }, 1004);
    expect(requests.map(({ ended }) => ended)).toEqual([true, false, true]);
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 2 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(8);
    expect(dropped()).toEqual({});
  });

  it('that had their last output in the same message ended by that', async () => {
    const { vllm, engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'a' });
    vllm.observe({ ...message(1, output('a', 1, { finish_reason: 1 })), finished_requests: ['a'] });
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({});
  });

  it.each([[5], [{}], [true], ['a'], [Symbol('a')]])(
    'that are no list of ids are counted: %s',
    (finished) => {
      const { vllm, engine, dropped } = startService();
      const request = engine.startRequest({ requestId: 'a' });
      vllm.observe({ finished_requests: finished as Iterable<string> });
      expect(request.ended).toBe(false);
      expect(dropped()).toEqual({ malformedMessage: 1 });
    },
  );

  it('survive ids that are no strings', async () => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'a' });
    vllm.observe({ finished_requests: [5, null, {}, Symbol('a'), 'a'] as string[] });
    expect(endings(await read())).toEqual({ abort: 1 });
  });
});

describe('a time', () => {
  it.each([[-1], [Number.NaN], [Infinity], ['1'], [null], [{}], [Symbol('now')], [Object.create(null)]])(
    'of a message that cannot be right is dropped once per batch: %s',
    (timestamp) => {
      const { vllm, engine, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      vllm.observe({ ...message(0, output('r', 1), output('r', 1)), timestamp: timestamp as number });
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it.each([[-1], [Number.NaN], [Infinity], ['1'], [{}], [Symbol('now')], [Object.create(null)]])(
    'of receipt that cannot be right is dropped, and now taken instead: %s',
    async (receivedAt) => {
      const { vllm, engine, clock, read, dropped } = startService();
      engine.startRequest({ requestId: 'r' });
      clock.wall = 1003;
      vllm.observe(message(1, output('r', 1, { finish_reason: 0 })), receivedAt as number);
      expect((await read()).histogram('vllm:e2e_request_latency_seconds').sum).toBe(3);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it('of receipt that is given wins over now, to the end', async () => {
    const { vllm, engine, traced, read } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1, { finish_reason: 0 })), 1007);
    const reading = await read();
    expect(reading.histogram('vllm:time_to_first_token_seconds').sum).toBe(7);
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(7);
    expect(traced.span.endTime).toEqual([1007, 0]);
  });

  it('of receipt is now where none is given', async () => {
    const { vllm, engine, clock, read } = startService();
    engine.startRequest({ requestId: 'r' });
    clock.wall = 1003;
    vllm.observe(message(1, output('r', 1)));
    expect((await read()).histogram('vllm:time_to_first_token_seconds').sum).toBe(3);
  });
});

describe('requests that the application dropped', () => {
  it('are not left to messages that hold statistics alone', async () => {
    const { vllm, engine, read } = startService();
    vllm.observe({ scheduler_stats: { num_running_reqs: 1 } });
    (() => {
      engine.startRequest();
    })();
    await collectUntil(() => vllm.status().requestsInFlight === 0);
    expect(endings(await read())).toEqual({ abort: 1 });
  });
});

describe('a dead engine', () => {
  it('ends its own requests as errors, at the time of the message, and no others', async () => {
    const { vllm, read } = startService();
    const [zero, one] = [0, 1].map((index) => vllm.engine(index).startRequest({ arrivalTime: 1000 }));
    vllm.observe({ engine_index: 1, engine_dead: true }, 1002.5);
    expect([zero!.ended, one!.ended]).toEqual([false, true]);
    const reading = await read();
    expect(endings(reading, { engine: '1' })).toEqual({ error: 1 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds', { engine: '1' }).sum).toBe(2.5);
    expect(endings(reading)).toEqual({});
  });

  it('of which nobody knows the index takes the requests of all with it', async () => {
    const { vllm, read } = startService();
    for (const index of [0, 7]) vllm.engine(index).startRequest();
    vllm.observe({ engine_dead: true });
    const reading = await read();
    expect([endings(reading), endings(reading, { engine: '7' })]).toEqual([{ error: 1 }, { error: 1 }]);
  });

  it.each([['0'], [-1], [0.5], [Number.NaN], [{}]])(
    'with an index that is none ends nothing, and is counted: %s',
    (index) => {
      const { vllm, engine, dropped } = startService();
      const request = engine.startRequest({ requestId: 'r' });
      vllm.observe({ engine_dead: true, engine_index: index as number });
      expect(request.ended).toBe(false);
      expect(dropped()).toEqual({ invalidEngineIndex: 1 });
    },
  );

  it('that was never heard of is no engine yet', () => {
    const { vllm } = startService();
    vllm.observe({ engine_index: 5, engine_dead: true });
    expect(vllm.engineIndices).toEqual([0]);
  });

  it('ends nothing twice while the instrumentation is disabled', () => {
    const { vllm, engine } = startService();
    vllm.disable();
    const request = engine.startRequest();
    vllm.observe({ engine_dead: true });
    expect(request.ended).toBe(false);
    request.end();
  });
});

describe('prefill statistics of engines of old, which know the cached tokens alone', () => {
  it('take the prompt length from the frontend, and the rest as computed', async () => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r', promptTokens: 100 });
    const prefill_stats = {
      num_cached_tokens: 64,
      num_local_cached_tokens: 48,
      num_external_cached_tokens: 16,
    };
    vllm.observe(message(1, output('r', 1, { prefill_stats, finish_reason: 0 })));
    const reading = await read();
    const bySource = ['local_compute', 'local_cache_hit', 'external_kv_transfer'].map((source) =>
      reading.value('vllm:prompt_tokens_by_source', { source }),
    );
    expect([reading.value('vllm:prompt_tokens'), ...bySource]).toEqual([100, 36, 48, 16]);
    expect(reading.histogram('vllm:iteration_tokens_total').sum).toBe(37);
    expect(reading.histogram('vllm:request_prefill_kv_computed_tokens').sum).toBe(36);
  });
});
