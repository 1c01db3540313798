import { SpanStatusCode, trace, type Span } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

const unsampled = () => startService({}, { sampler: new AlwaysOffSampler() });

describe('the span of a request that is not recorded', () => {
  it('takes whatever a span takes, and records nothing', () => {
    const { engine, traced, dropped } = unsampled();
    const span = engine.startRequest().span!;
    const link = { context: span.spanContext() };
    const chained = [
      span.setAttribute('a', 1),
      span.setAttributes({ a: 1 }),
      span.addEvent('e'),
      span.addLink(link),
      span.addLinks([link]),
      span.setStatus({ code: SpanStatusCode.OK }),
      span.updateName('other'),
    ];
    expect(chained.every((returned) => returned === span)).toBe(true);
    span.recordException(new Error('unseen'));
    expect(span.isRecording()).toBe(false);
    span.end();
    expect(traced.spans).toEqual([]);
    expect(dropped()).toEqual({});
  });

  it('has the trace that the sampler gave it, for what starts below', () => {
    const { engine, traced } = unsampled();
    const request = engine.startRequest();
    const { traceId } = request.span!.spanContext();
    expect(trace.isSpanContextValid(request.span!.spanContext())).toBe(true);
    const below = traced.tracer.startSpan('below', {}, request.context);
    expect(below.spanContext().traceId).toBe(traceId);
  });

  it('tells nobody of its end once the request has ended', async () => {
    const { engine, read, dropped } = unsampled();
    const request = engine.startRequest();
    const { span } = request;
    request.end('length');
    span!.setStatus({ code: SpanStatusCode.ERROR });
    // A time that is none is counted where anybody looks at it.
    span!.end(Number.NaN);
    expect(request.span).toBe(span);
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({});
  });

  it('ends its own request and the one that adopted it, the latter first', async () => {
    const { vllm, engine, read } = unsampled();
    const request = engine.startRequest({ requestId: 'own' });
    const adopter = vllm.adopt(request.span, { requestId: 'adopter' });
    expect(adopter.span).toBe(request.span);
    request.span!.setStatus({ code: SpanStatusCode.ERROR });
    request.span!.end();
    expect([request.ended, adopter.ended]).toEqual([true, true]);
    expect(endings(await read())).toEqual({ error: 2 });
  });

  it.each([
    ['length', { length: 1, stop: 1 }],
    ['error', { error: 2 }],
  ] as const)(
    'ends with its own request, by %s, and with it the one that adopted it, as a recorded span does',
    async (reason, ended) => {
      for (const { vllm, engine, read, clock } of [startService(), unsampled()]) {
        const request = engine.startRequest({ requestId: 'own' });
        const adopter = vllm.adopt(request.span, { requestId: 'adopter' });
        clock.wall = 1003;
        request.end(reason, { receivedAt: 1002 });
        expect(adopter.ended).toBe(true);
        const reading = await read();
        expect(endings(reading)).toEqual(ended);
        expect(reading.histogram('vllm:e2e_request_latency_seconds')).toMatchObject({ count: 2, sum: 4 });
      }
    },
  );

  it('calls what somebody put in the place of its end, once, and counts what that throws', async () => {
    const { engine, read, dropped } = unsampled();
    const request = engine.startRequest();
    let calls = 0;
    request.span!.end = (): never => {
      calls += 1;
      throw new Error('broken');
    };
    expect([request.end('length'), request.end('length')]).toEqual([true, false]);
    expect(calls).toBe(1);
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({ providerError: 1 });
  });

  it('is left to its own request where the one that adopted it has ended', async () => {
    const { vllm, engine, read } = unsampled();
    const request = engine.startRequest({ requestId: 'own' });
    const { end } = Object.getPrototypeOf(request.span) as Span;
    vllm.adopt(request.span, { requestId: 'adopter' }).end('abort');
    expect(request.span!.end).toBe(end);
    expect(request.ended).toBe(false);
    request.span!.end();
    expect(endings(await read())).toEqual({ abort: 1, stop: 1 });
  });
});
