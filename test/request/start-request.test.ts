import { context, ROOT_CONTEXT, SpanStatusCode, trace, type Span } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { getRequest, recordPreemption } from '../../src/request/request-context.ts';
import { collectThoroughly, collectUntil } from '../support/garbage.ts';
import { message, output } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST } from '../support/per-request.ts';
import { startService, type Service } from '../support/service.ts';

/** Runs `fn` as an HTTP instrumentation runs a handler: below the span of the server. */
function serve<T>(service: Service, fn: (span: Span) => T): T {
  const span = service.traced.tracer.startSpan('POST /v1/completions');
  return context.with(trace.setSpan(ROOT_CONTEXT, span), () => fn(span));
}

describe('adopt', () => {
  it('makes the active span the request, recorded when it ends', async () => {
    const service = startService();
    const { vllm, traced, clock, read } = service;
    serve(service, (span) => {
      const request = vllm.adopt(trace.getActiveSpan(), { requestId: 'r', promptTokens: 7, maxTokens: 9 });
      expect(request.span).toBe(span);
      expect(recordPreemption(51)).toBe(true);
      clock.wall = 1003;
      span.end();
      expect(request.ended).toBe(true);
    });
    const reading = await read();
    expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(3);
    expect(reading.histogram('vllm:request_prompt_tokens').sum).toBe(7);
    expect(endings(reading)).toEqual({ stop: 1 });
    expect(traced.span.name).toBe('POST /v1/completions');
    expect(traced.span.attributes).toMatchObject({
      'gen_ai.request.id': 'r',
      'gen_ai.request.model': 'test-model',
      'gen_ai.request.max_tokens': 9,
      'gen_ai.response.finish_reasons': ['stop'],
      'vllm.request.num_preemptions': 1,
    });
    expect(traced.span.events.map(({ name }) => name)).toEqual(['vllm.request.preempted']);
  });

  it('starts a span of its own where there is none to adopt', async () => {
    const { vllm, traced, read } = startService();
    vllm.adopt(trace.getActiveSpan()).end('length');
    expect(traced.span.name).toBe('llm_request');
    expect(endings(await read())).toEqual({ length: 1 });
  });

  it.each([[5], ['span'], [{}], [Symbol('span')], [Object.create(null)], [() => {}]])(
    'starts a span of its own for what is no span, and counts it: %s',
    (garbage) => {
      const { vllm, traced, dropped } = startService();
      vllm.adopt(garbage as Span).end();
      expect(traced.span.name).toBe('llm_request');
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it('takes null for no span and for no options', () => {
    const { vllm, dropped } = startService();
    expect(vllm.adopt(null as unknown as undefined, null as unknown as undefined).end()).toBe(true);
    expect(dropped()).toEqual({});
  });

  it('gives the same request for the same span again while it is in flight', async () => {
    const service = startService();
    serve(service, (span) => {
      const request = service.vllm.adopt(span, { requestId: 'first' });
      expect(service.vllm.adopt(span, { requestId: 'second' })).toBe(request);
      expect(request.requestId).toBe('first');
      span.end();
    });
    expect(endings(await service.read())).toEqual({ stop: 1 });
  });

  it('gives a further request of the same span a span of its own below it, and a sample of its own', async () => {
    const service = startService();
    serve(service, (span) => {
      service.vllm.adopt(span).end('length');
      const second = service.vllm.adopt(span);
      expect(getRequest()).toBe(second);
      recordPreemption();
      expect(second.numPreemptions).toBe(1);
      second.end('stop');
      span.end();
    });
    expect(endings(await service.read())).toEqual({ stop: 1, length: 1 });
    const [own, server] = service.traced.spans;
    expect(own!.name).toBe('llm_request');
    expect(own!.parentSpanContext?.spanId).toBe(server!.spanContext().spanId);
  });

  it('records a dropped one with several choices, too', async () => {
    const service = startService();
    (() => {
      service.vllm.adopt(service.traced.tracer.startSpan('dropped'), { n: 2 });
    })();
    await collectUntil(() => service.vllm.status().requestsInFlight === 0);
    expect(endings(await service.read())).toEqual({ abort: 2 });
  });

  it('leaves the error that the application gave its span alone', async () => {
    const service = startService();
    serve(service, (span) => {
      service.vllm.adopt(span);
      span
        .setAttribute('error.type', '503')
        .setStatus({ code: SpanStatusCode.ERROR, message: 'KV transfer timed out' });
      span.end();
    });
    expect(service.traced.span.attributes['error.type']).toBe('503');
    expect(service.traced.span.status).toEqual({
      code: SpanStatusCode.ERROR,
      message: 'KV transfer timed out',
    });
    expect(endings(await service.read())).toEqual({ error: 1 });
  });

  it('lets the request end before its span, which goes on and ends without a second sample', async () => {
    const service = startService();
    serve(service, (span) => {
      const request = service.vllm.adopt(span);
      expect(request.end('length')).toBe(true);
      expect(service.traced.spans).toHaveLength(0);
      expect(span.isRecording()).toBe(true);
      span.setAttribute('after', true);
      span.end();
    });
    expect(service.traced.span.attributes).toMatchObject({
      after: true,
      'gen_ai.response.finish_reasons': ['length'],
    });
    expect(endings(await service.read())).toEqual({ length: 1 });
  });

  it('lets the engine end the request before its span', async () => {
    const service = startService();
    serve(service, (span) => {
      service.vllm.adopt(span, { requestId: 'r' });
      service.vllm.observe(message(1, output('r', 1, { finish_reason: 4 })));
      span.end();
    });
    expect(endings(await service.read())).toEqual({ repetition: 1 });
  });

  it.each([
    ['sampled', {}],
    ['not sampled', { sampler: new AlwaysOffSampler() }],
  ])('takes status ERROR of a span that is %s for an error', async (_, tracing) => {
    const service = startService({}, tracing);
    serve(service, (span) => {
      service.vllm.adopt(span);
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    expect(endings(await service.read())).toEqual({ error: 1 });
  });

  it('reaches the engine that is named', async () => {
    const service = startService();
    serve(service, (span) => {
      expect(service.vllm.adopt(span, { engine: 3 }).engineIndex).toBe(3);
      span.end();
    });
    expect(endings(await service.read(), { engine: '3' })).toEqual({ stop: 1 });
  });

  it('refuses an engine index that is none', () => {
    const { vllm } = startService();
    for (const engine of [-1, 1.5, 65_536, Number.NaN, '0']) {
      expect(() => vllm.adopt(undefined, { engine: engine as number })).toThrow(TypeError);
    }
  });

  it('finds the request wherever the span is the active one, without run', () => {
    const service = startService();
    const request = serve(service, (span) => {
      const adopted = service.vllm.adopt(span);
      expect(getRequest()).toBe(adopted);
      return adopted;
    });
    expect(getRequest()).toBeUndefined();
    expect(getRequest(trace.setSpan(ROOT_CONTEXT, request.span!))).toBe(request);
  });

  it('finds the request below spans of its own only inside run', () => {
    const service = startService();
    serve(service, (span) => {
      const request = service.vllm.adopt(span);
      service.traced.tracer.startActiveSpan('inner', () => expect(getRequest()).toBeUndefined());
      request.run(() => {
        service.traced.tracer.startActiveSpan('inner', () => expect(getRequest()).toBe(request));
      });
    });
  });

  it('survives a span that throws when described', async () => {
    const service = startService();
    serve(service, (span) => {
      const fail = (): never => {
        throw new Error('no attributes today');
      };
      const request = service.vllm.adopt(Object.assign(span, { setAttributes: fail, isRecording: fail }));
      request.recordPreemption();
      request.end();
    });
    expect((await service.read()).histogram('vllm:request_num_preemptions')).toMatchObject({
      count: 1,
      sum: 1,
    });
    expect(service.dropped().providerError).toBe(3);
  });

  it('holds the span weakly: one that was dropped without an end is recorded as an abort', async () => {
    const { vllm, traced, read } = startService();
    (() => {
      vllm.adopt(traced.tracer.startSpan('dropped'), { requestId: 'dropped' }).recordPreemption();
    })();
    await collectUntil(() => vllm.status().requestsInFlight === 0);
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 1 });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 1));
    expect(reading.histogram('vllm:request_num_preemptions').sum).toBe(1);
  });

  it('keeps the request while the span lives, though nobody holds the request', async () => {
    const { vllm, traced, read } = startService();
    const span = traced.tracer.startSpan('kept');
    vllm.adopt(span);
    await collectThoroughly();
    expect(vllm.status().requestsInFlight).toBe(1);
    context.with(trace.setSpan(ROOT_CONTEXT, span), () => expect(recordPreemption()).toBe(true));
    span.end();
    expect((await read()).histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
  });

  it('makes several choices of one span', async () => {
    const service = startService();
    serve(service, (span) => {
      const request = service.vllm.adopt(span, { requestId: 'r', n: 2 });
      request.choices[1]!.recordPreemption();
      span.end([1005, 0]);
      expect(request.ended).toBe(true);
      expect(request.choices.map(({ ended }) => ended)).toEqual([true, true]);
    });
    const reading = await service.read();
    expect(endings(reading)).toEqual({ stop: 2 });
    expect(reading.histogram('vllm:request_params_n')).toMatchObject({ count: 1, sum: 2 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(10);
    expect(service.traced.spans.map(({ name }) => name)).toEqual([
      'llm_request',
      'llm_request',
      'POST /v1/completions',
    ]);
  });
});

describe('startRequest', () => {
  it('knows its id and its engine', () => {
    const { vllm } = startService();
    const request = vllm.engine(12).startRequest({ requestId: 'cmpl-1' });
    expect(request.requestId).toBe('cmpl-1');
    expect(request.engineIndex).toBe(12);
    expect(request.choices).toEqual([request]);
  });

  it('under the id of a live request counts too, while the messages go to the first', async () => {
    const { vllm, engine, read, dropped } = startService();
    const first = engine.startRequest({ requestId: 'r' });
    const second = engine.startRequest({ requestId: 'r' });
    expect(vllm.status().requestsInFlight).toBe(2);
    vllm.observe(message(1, output('r', 1, { finish_reason: 1 })));
    expect([first.ended, second.ended]).toEqual([true, false]);
    vllm.observe(message(2, output('r', 1)));
    expect(dropped()).toEqual({ duplicateRequestId: 1, afterEnd: 1 });
    second.recordTokens(3);
    second.end('stop');
    const reading = await read();
    expect(endings(reading)).toEqual({ length: 1, stop: 1 });
    expect(reading.value('vllm:generation_tokens')).toBe(4);
    expect(vllm.status().requestsInFlight).toBe(0);
  });

  it('may take an id again whose request has ended', () => {
    const { vllm, engine, dropped } = startService();
    engine.startRequest({ requestId: 'r' }).end();
    const second = engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1, { finish_reason: 0 })));
    expect(second.ended).toBe(true);
    expect(dropped()).toEqual({});
  });

  it('keeps the same id apart on different engines', async () => {
    const { vllm, read } = startService();
    vllm.engine(0).startRequest({ requestId: 'r' });
    vllm.engine(1).startRequest({ requestId: 'r' });
    vllm.observe({ engine_index: 1, timestamp: 1, outputs: [output('r', 1, { finish_reason: 1 })] });
    const reading = await read();
    expect(endings(reading, { engine: '1' })).toEqual({ length: 1 });
    expect(endings(reading)).toEqual({});
  });
});
