import { describe, expect, it } from 'vitest';
import { getRequest } from '../../src/request/request-context.ts';
import type { FinishReason } from '../../src/request/finish-reason.ts';
import type { EndOptions, RecordTokensOptions } from '../../src/request/request-options.ts';
import type { RequestEvent } from '../../src/request/request-event.ts';
import { collectThoroughly, collectUntil } from '../support/garbage.ts';
import { message, output } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

describe('end', () => {
  it('is stop by default', async () => {
    const { engine, read } = startService();
    engine.startRequest().end();
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('counts the first time only', async () => {
    const { engine, traced, read, dropped } = startService();
    const request = engine.startRequest();
    expect(request.ended).toBe(false);
    expect([request.end('length'), request.end('stop'), request.end('error')]).toEqual([true, false, false]);
    expect(request.ended).toBe(true);
    const reading = await read();
    const names = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST];
    expect(counts(reading, names)).toEqual(all(names, 1));
    expect(endings(reading)).toEqual({ length: 1 });
    expect(traced.spans).toHaveLength(1);
    expect(dropped()).toEqual({});
  });

  it.each([['cancelled'], [''], [0], [null], [{}], [Symbol('stop')], [Object.create(null)]])(
    'for a reason that nobody knows is stop, and counted: %j',
    async (reason) => {
      const { engine, traced, read, dropped } = startService();
      expect(engine.startRequest().end(reason as FinishReason)).toBe(true);
      expect(endings(await read())).toEqual({ stop: 1 });
      expect(traced.span.attributes['gen_ai.response.finish_reasons']).toEqual(['stop']);
      expect(dropped()).toEqual({ unknownFinishReason: 1 });
    },
  );

  it.each([[-1], [Number.NaN], [Infinity], ['1004'], [{}], [Symbol('now')], [Object.create(null)]])(
    'received at a time that cannot be right is received now, and counted: %s',
    async (receivedAt) => {
      const { engine, clock, traced, read, dropped } = startService();
      const request = engine.startRequest();
      clock.wall = 1004;
      request.end('stop', { receivedAt: receivedAt as number });
      expect((await read()).histogram('vllm:e2e_request_latency_seconds').sum).toBe(4);
      expect(traced.span.endTime).toEqual([1004, 0]);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it.each([[null], [5], ['options'], [Symbol('options')]])(
    'takes %s for options that say nothing',
    (options) => {
      const { engine, dropped } = startService();
      expect(engine.startRequest().end('stop', options as EndOptions)).toBe(true);
      expect(dropped()).toEqual({});
    },
  );
});

describe('options that cannot be read', () => {
  const broken = (name: string): object =>
    Object.defineProperty({}, name, {
      get: (): never => {
        throw new RangeError('truncated');
      },
    });

  it.each([
    ['receivedAt', 1],
    ['error', 1],
    ['receivedAt', 2],
  ])('of an end are the defaults, and counted: %s, %d choices', async (name, n) => {
    const { engine, clock, read, dropped } = startService();
    const request = engine.startRequest({ n });
    clock.wall = 1004;
    expect(request.end('error', broken(name))).toBe(true);
    const reading = await read();
    expect(endings(reading)).toEqual({ error: n });
    expect(reading.histogram('vllm:e2e_request_latency_seconds')).toMatchObject({ count: n, sum: 4 * n });
    expect(dropped()).toEqual({ invalidValue: n });
  });

  it.each([
    ['timestamp', broken('timestamp')],
    ['receivedAt', broken('receivedAt')],
    ['prefill', broken('prefill')],
    ['what the prefill says first', { prefill: broken('num_cached_tokens') }],
    ['what it says last', { prefill: broken('num_external_cached_tokens') }],
  ])('of tokens cost no token, and the next output is the first: %s', async (_, options) => {
    const { engine, clock, read, dropped } = startService();
    const request = engine.startRequest({ promptTokens: 7 });
    expect(request.recordTokens(3, options)).toBe(true);
    clock.wall = 1004;
    expect(request.recordTokens(2)).toBe(true);
    request.end();
    const reading = await read();
    expect(reading.value('vllm:generation_tokens')).toBe(5);
    expect(reading.histogram('vllm:request_generation_tokens')).toMatchObject({ count: 1, sum: 5 });
    expect(reading.value('vllm:prompt_tokens')).toBe(7);
    expect(reading.histogram('vllm:time_to_first_token_seconds')).toMatchObject({ count: 1, sum: 4 });
    expect(dropped()).toEqual({ invalidValue: 1 });
  });
});

describe('what is recorded after the end', () => {
  it('is counted as dropped and changes nothing', async () => {
    const { engine, traced, read, dropped } = startService();
    const request = engine.startRequest();
    request.end();
    expect(request.recordEvent('queued', 1)).toBe(false);
    expect(request.recordPreemption()).toBe(false);
    expect(request.recordTokens(5)).toBe(false);
    expect(request.recordEvent(Symbol('odd') as unknown as RequestEvent)).toBe(false);
    expect(request.numPreemptions).toBe(0);
    const reading = await read();
    expect(reading.value('vllm:num_preemptions')).toBe(0);
    expect(reading.value('vllm:generation_tokens')).toBe(0);
    expect(reading.histogram('vllm:time_to_first_token_seconds').count).toBe(0);
    expect(traced.span.events).toEqual([]);
    expect(dropped()).toEqual({ afterEnd: 4 });
  });
});

describe('recordEvent', () => {
  it('takes the time of now where none is given', async () => {
    const { engine, clock, read } = startService();
    const request = engine.startRequest();
    request.recordEvent('queued');
    clock.monotonic += 3;
    request.recordEvent('scheduled');
    clock.monotonic += 4;
    request.recordTokens(1);
    request.end();
    const reading = await read();
    expect(reading.histogram('vllm:request_queue_time_seconds').sum).toBe(3);
    expect(reading.histogram('vllm:request_prefill_time_seconds').sum).toBe(4);
  });

  it.each([['resumed'], [''], [3], [null], [undefined], [{}], [Symbol('odd')], [Object.create(null)]])(
    'drops and counts an event that nobody knows: %s',
    (event) => {
      const { engine, dropped } = startService();
      const request = engine.startRequest();
      expect(request.recordEvent(event as RequestEvent, 1)).toBe(false);
      expect(request.numPreemptions).toBe(0);
      expect(dropped()).toEqual({ unknownEvent: 1 });
    },
  );

  it.each([[-1], [Number.NaN], [Infinity], ['50'], [{}], [null], [Symbol('now')], [Object.create(null)]])(
    'counts a preemption whose time cannot be right, and the time as dropped: %s',
    (timestamp) => {
      const { engine, dropped } = startService();
      const request = engine.startRequest();
      expect(request.recordPreemption(timestamp as number)).toBe(true);
      expect(request.numPreemptions).toBe(1);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );
});

describe('recordTokens', () => {
  it('takes both times of now where none is given', async () => {
    const { engine, clock, read } = startService();
    const request = engine.startRequest();
    clock.wall += 2;
    request.recordTokens(1);
    clock.wall += 90;
    clock.monotonic += 5;
    request.recordTokens(3);
    const reading = await read();
    expect(reading.histogram('vllm:time_to_first_token_seconds')).toMatchObject({ count: 1, sum: 2 });
    expect(reading.histogram('vllm:inter_token_latency_seconds')).toMatchObject({ count: 1, sum: 5 });
    expect(reading.value('vllm:generation_tokens')).toBe(4);
  });

  it('takes the whole prompt for computed where nothing is said of the prefill', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest({ promptTokens: 40 });
    request.recordTokens(1);
    request.recordTokens(1);
    request.end();
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(40);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(40);
    expect(reading.histogram('vllm:request_prefill_kv_computed_tokens').sum).toBe(40);
  });

  it.each([0, 1, 7, Number.MAX_SAFE_INTEGER])('accepts %d tokens', async (count) => {
    const { engine, read } = startService();
    expect(engine.startRequest().recordTokens(count)).toBe(true);
    expect((await read()).value('vllm:generation_tokens')).toBe(count);
  });

  it.each([
    [-1],
    [0.5],
    [Number.NaN],
    [Infinity],
    [2 ** 53],
    ['1'],
    [[1, 2]],
    [undefined],
    [5n],
    [Symbol('1')],
    [Object.create(null)],
  ])('drops and counts a number of tokens that cannot be right: %s', async (count) => {
    const { engine, read, dropped } = startService();
    const request = engine.startRequest();
    expect(request.recordTokens(count as number)).toBe(false);
    request.end();
    const reading = await read();
    expect(reading.value('vllm:generation_tokens')).toBe(0);
    expect(reading.histogram('vllm:time_to_first_token_seconds').count).toBe(0);
    expect(dropped()).toEqual({ invalidValue: 1 });
  });

  it.each([[null], [5], ['options'], [{ timestamp: undefined, receivedAt: undefined, prefill: undefined }]])(
    'takes %s for options that say nothing',
    (options) => {
      const { engine, dropped } = startService();
      expect(engine.startRequest().recordTokens(1, options as RecordTokensOptions)).toBe(true);
      expect(dropped()).toEqual({});
    },
  );

  it('takes null for a prefill that says nothing', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest({ promptTokens: 4 });
    expect(request.recordTokens(1, { prefill: null as unknown as undefined })).toBe(true);
    expect((await read()).value('vllm:prompt_tokens')).toBe(4);
  });
});

describe('using', () => {
  it('takes leaving the block without an end for an abort', async () => {
    const { engine, read } = startService();
    {
      using request = engine.startRequest();
      request.recordPreemption();
    }
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 1 });
    expect(reading.histogram('vllm:request_num_preemptions').sum).toBe(1);
  });

  it('takes leaving it by an exception for an abort', async () => {
    const { engine, read } = startService();
    expect(() => {
      using request = engine.startRequest();
      request.recordPreemption();
      throw new Error('the handler failed');
    }).toThrow('the handler failed');
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('leaves an end of before alone', async () => {
    const { engine, read } = startService();
    {
      using request = engine.startRequest();
      request.end('length');
    }
    expect(endings(await read())).toEqual({ length: 1 });
  });
});

describe('run', () => {
  it('runs the function in the Context of the request and returns what it returns', async () => {
    const { engine } = startService();
    const request = engine.startRequest();
    expect(request.run(() => getRequest())).toBe(request);
    expect(await request.run(async () => Promise.resolve(5))).toBe(5);
    expect(() =>
      request.run(() => {
        throw new RangeError('thrown through');
      }),
    ).toThrow(RangeError);
    expect(getRequest()).toBeUndefined();
    expect(request.ended).toBe(false);
  });

  it('has one Context per request', () => {
    const { engine } = startService();
    const request = engine.startRequest();
    expect(request.context).toBe(request.context);
    expect(getRequest(request.context)).toBe(request);
  });
});

describe('a request that was dropped', () => {
  it('is recorded as an abort when it is collected, with what it had', async () => {
    const { vllm, engine, read } = startService();
    (() => {
      const request = engine.startRequest();
      request.run(() => request.recordPreemption());
      request.recordTokens(2);
    })();
    await collectUntil(() => vllm.status().requestsInFlight === 0);
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 1 });
    expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
    expect(reading.histogram('vllm:request_generation_tokens')).toMatchObject({ count: 1, sum: 2 });
  });

  it('is though its AbortSignal lives on', async () => {
    const { vllm, engine, read } = startService();
    const controller = new AbortController();
    (() => {
      engine.startRequest({ signal: controller.signal });
    })();
    await collectUntil(() => vllm.status().requestsInFlight === 0);
    controller.abort();
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('is not while somebody holds its Context', async () => {
    const { vllm, engine } = startService();
    const held = (() => engine.startRequest().context)();
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(1);
    expect(getRequest(held)?.end()).toBe(true);
  });

  it('is not while async work runs in its Context', async () => {
    const { vllm, engine, read } = startService();
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const work = (() =>
      engine.startRequest().run(async () => {
        await gate;
        getRequest()?.end('length');
      }))();
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(1);
    release();
    await work;
    expect(endings(await read())).toEqual({ length: 1 });
  });

  it('with several choices is lost when all of them are', async () => {
    const { vllm, engine, read } = startService();
    const kept = (() => engine.startRequest({ n: 3 }).choices[1]!)();
    await collectUntil(() => vllm.status().requestsInFlight === 1);
    expect(kept.ended).toBe(false);
    expect((await read()).histogram('vllm:request_params_n').count).toBe(0);
    kept.end('stop');
    const reading = await read();
    expect(endings(reading)).toEqual({ stop: 1, abort: 2 });
    expect(reading.histogram('vllm:request_params_n')).toMatchObject({ count: 1, sum: 3 });
  });

  it('with several choices is not lost while only the parent is held', async () => {
    const { vllm, engine } = startService();
    const kept = (() => engine.startRequest({ n: 2 }))();
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(2);
    kept.end();
  });

  it('on an engine whose messages are observed is left to them', async () => {
    const { vllm, engine, read } = startService();
    (() => {
      engine.startRequest({ requestId: 'r' }).recordPreemption();
    })();
    vllm.observe(message(1, output('r', 1)));
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(1);
    vllm.observe(message(2, output('r', 1, { finish_reason: 1 })));
    expect(endings(await read())).toEqual({ length: 1 });
  });

  it('for which no output has come in ten minutes is an abort there, too, and shows in that very collection', async () => {
    const { vllm, engine, read, clock } = startService();
    vllm.observe(message(1, output('another', 1)));
    const dropped = new WeakRef((() => engine.startRequest({ requestId: 'never reached the engine' }))());
    (() => {
      engine.startRequest({ requestId: 'r' });
    })();
    await collectUntil(() => dropped.deref() === undefined);
    await collectThoroughly();
    clock.wall += 599;
    vllm.observe(message(2, output('r', 1)), clock.wall);
    expect(endings(await read())).toEqual({});
    clock.wall += 1;
    expect(endings(await read())).toEqual({ abort: 1 });
    clock.wall += 598;
    expect(endings(await read())).toEqual({ abort: 1 });
    clock.wall += 10;
    vllm.observe(message(3), 7);
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ abort: 2 });
  });

  it('is no orphan while outputs come for it, with tokens or without', async () => {
    const { vllm, engine, clock } = startService();
    vllm.observe(message(1, output('another', 1)));
    (() => {
      engine.startRequest({ requestId: 'r' });
    })();
    await collectThoroughly();
    for (let round = 0; round < 5; round += 1) {
      clock.wall += 599;
      vllm.observe(message(2, output('r', 0)), clock.wall + 1_000_000);
    }
    expect(vllm.status().requestsInFlight).toBe(1);
    vllm.disable();
  });

  it('takes no prefill for granted before its first token', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest({ promptTokens: 500 });
    request.recordTokens(0);
    request.recordTokens(1, {
      prefill: { num_prompt_tokens: 500, num_computed_tokens: 400, num_cached_tokens: 100 },
    });
    request.end();
    expect((await read()).histogram('vllm:request_prefill_kv_computed_tokens').sum).toBe(400);
  });

  it('after its end leaves nothing behind', async () => {
    const { vllm, engine, read } = startService();
    (() => {
      for (let count = 0; count < 100; count += 1) engine.startRequest().end();
    })();
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ stop: 100 });
  });
});
