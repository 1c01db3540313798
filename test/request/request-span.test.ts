import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span,
  type SpanStatus,
  type Tracer,
} from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import {
  AlwaysOffSampler,
  createAlwaysRecordSampler,
  TraceIdRatioBasedSampler,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import type { FinishReason } from '../../src/request/finish-reason.ts';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

describe('the span of a request', () => {
  it('is named llm_request, of kind SERVER, and starts with the arrival', () => {
    const { engine, traced } = startService();
    engine.startRequest({ arrivalTime: 900.25 }).end();
    expect(traced.span.name).toBe('llm_request');
    expect(traced.span.kind).toBe(SpanKind.SERVER);
    expect(traced.span.startTime).toEqual([900, 250_000_000]);
    expect(traced.span.parentSpanContext).toBeUndefined();
    expect(traced.span.instrumentationScope.name).toBe('opentelemetry-instrumentation-vllm');
  });

  it('is of another kind where the options say so', () => {
    const { engine, traced } = startService({ spanKind: SpanKind.INTERNAL });
    engine.startRequest().end();
    expect(traced.span.kind).toBe(SpanKind.INTERNAL);
  });

  it('ends when the request does, as seen here', () => {
    const { engine, traced, clock } = startService();
    const request = engine.startRequest();
    clock.wall = 1002;
    request.end('stop', { receivedAt: 1001.5 });
    expect(traced.span.endTime).toEqual([1001, 500_000_000]);
  });

  it('has the active span as its parent', () => {
    const { engine, traced } = startService();
    const parent = traced.tracer.startSpan('caller');
    context.with(trace.setSpan(ROOT_CONTEXT, parent), () => engine.startRequest()).end();
    expect(traced.span.parentSpanContext).toEqual(parent.spanContext());
  });

  it('is the active span inside run, and the parent of what starts there', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest();
    request.run(() => {
      expect(trace.getActiveSpan()).toBe(request.span);
      traced.tracer.startSpan('inside').end();
    });
    expect(traced.span.parentSpanContext).toEqual(request.span!.spanContext());
  });

  it("carries vLLM's attributes, today's GenAI names and the preemption count, and no others", () => {
    const { engine, vllm, traced } = startService();
    engine.startRequest({
      requestId: 'r',
      promptTokens: 100,
      maxTokens: 64,
      temperature: 0.5,
      topP: 0.875,
      loraName: 'sql',
      attributes: { 'app.route': '/chat' },
    });
    vllm.observe(message(51, output('r', 0, { events: [queued(50), scheduled(52)] })), 1000);
    vllm.observe(message(55, output('r', 1)), 1004);
    vllm.observe(message(59, output('r', 2, { events: [preempted(56)], finish_reason: 1 })), 1012);
    expect(traced.span.attributes).toEqual({
      'gen_ai.request.id': 'r',
      'gen_ai.request.model': 'test-model',
      'gen_ai.request.n': 1,
      'gen_ai.request.choice.count': 1,
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.875,
      'vllm.request.lora_name': 'sql',
      'vllm.engine.index': 0,
      'app.route': '/chat',
      'gen_ai.usage.prompt_tokens': 100,
      'gen_ai.usage.completion_tokens': 3,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.response.finish_reasons': ['length'],
      'vllm.request.num_preemptions': 1,
      'gen_ai.latency.time_to_first_token': 4,
      'gen_ai.latency.e2e': 12,
      'gen_ai.latency.time_in_queue': 2,
      'gen_ai.latency.time_in_model_prefill': 3,
      'gen_ai.latency.time_in_model_decode': 4,
      'gen_ai.latency.time_in_model_inference': 7,
    });
  });

  it('leaves out the parameters that were not given', () => {
    const { engine, traced } = startService();
    engine.startRequest({ requestId: 'r' }).end();
    for (const name of ['max_tokens', 'temperature', 'top_p']) {
      expect(traced.span.attributes).not.toHaveProperty([`gen_ai.request.${name}`]);
    }
    expect(traced.span.attributes).not.toHaveProperty(['vllm.request.lora_name']);
    expect(traced.span.attributes).not.toHaveProperty(['error.type']);
  });

  it('gets an event per preemption, in their order', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest();
    for (const time of [51, 52.5, 60]) request.recordPreemption(time);
    request.end();
    expect(traced.span.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['vllm.request.preempted', { 'vllm.request.num_preemptions': 1, 'vllm.engine.timestamp': 51 }],
      ['vllm.request.preempted', { 'vllm.request.num_preemptions': 2, 'vllm.engine.timestamp': 52.5 }],
      ['vllm.request.preempted', { 'vllm.request.num_preemptions': 3, 'vllm.engine.timestamp': 60 }],
    ]);
  });

  it('has no engine time on the event of a preemption whose time cannot be right', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest();
    request.recordPreemption(Number.NaN);
    request.end();
    expect(traced.span.events[0]?.attributes).toEqual({ 'vllm.request.num_preemptions': 1 });
  });

  it.each<[FinishReason]>([['stop'], ['length'], ['abort'], ['repetition']])(
    'has no status when the request ends by %s',
    (reason) => {
      const { engine, traced } = startService();
      engine.startRequest().end(reason);
      expect(traced.span.status).toEqual({ code: SpanStatusCode.UNSET });
      expect(traced.span.attributes['gen_ai.response.finish_reasons']).toEqual([reason]);
      expect(traced.span.events).toEqual([]);
    },
  );

  it('has status ERROR, the type and the exception of an error', () => {
    const { engine, traced } = startService();
    engine.startRequest().end('error', { error: new RangeError('out of blocks') });
    expect(traced.span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'out of blocks' });
    expect(traced.span.attributes['error.type']).toBe('RangeError');
    expect(traced.span.events[0]).toMatchObject({
      name: 'exception',
      attributes: { 'exception.type': 'RangeError', 'exception.message': 'out of blocks' },
    });
  });

  it.each([[undefined], [null], ['a string'], [{ message: 'no Error' }], [Object.create(null)]])(
    'has status ERROR for an error without an Error too: %j',
    (error) => {
      const { engine, traced, dropped } = startService();
      engine.startRequest().end('error', { error });
      expect(traced.span.status).toEqual({
        code: SpanStatusCode.ERROR,
        message: 'the engine failed the request',
      });
      expect(traced.span.attributes['error.type']).toBe('_OTHER');
      expect(traced.span.events).toEqual([]);
      expect(dropped()).toEqual({});
    },
  );
});

describe('a span that the application ends', () => {
  it('ends the request, now', async () => {
    const { engine, traced, clock, read } = startService();
    const request = engine.startRequest();
    clock.wall = 1004;
    request.span!.end();
    expect(request.ended).toBe(true);
    expect(request.end('length')).toBe(false);
    expect(traced.span.attributes).toMatchObject({
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.latency.e2e': 4,
    });
    const reading = await read();
    expect(endings(reading)).toEqual({ stop: 1 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(4);
  });

  it.each([
    ['a pair', [1006, 500_000_000] as [number, number], 6.5],
    ['a Date', new Date(1_007_250), 7.25],
    ['milliseconds since the epoch', 1_764_426_000_000, 1_764_425_000],
  ])('ends it at the time it was given: %s', async (_, endTime, e2e) => {
    const { engine, traced, read } = startService();
    engine.startRequest().span!.end(endTime);
    expect((await read()).histogram('vllm:e2e_request_latency_seconds')).toMatchObject({
      count: 1,
      sum: e2e,
    });
    expect(hrTimeToMilliseconds(traced.span.endTime)).toBe(1_000_000 + e2e * 1000);
  });

  it('with null for the time ends it now', async () => {
    const { engine, clock, read, dropped } = startService();
    const request = engine.startRequest();
    clock.wall = 1004;
    request.span!.end(null as unknown as undefined);
    expect((await read()).histogram('vllm:e2e_request_latency_seconds').sum).toBe(4);
    expect(dropped()).toEqual({});
  });

  it.each([
    ['sampled', {}],
    ['not sampled', { sampler: new AlwaysOffSampler() }],
  ])('with a time that is none, or cannot be read, ends it now, and is counted: %s', async (_, tracing) => {
    const times: readonly unknown[] = [Number.NaN, 10n, [10n, 0], Object.create(null)];
    const { engine, clock, read, dropped } = startService({}, tracing);
    for (const time of times) {
      clock.wall = 1000;
      const { span } = engine.startRequest();
      clock.wall = 1004;
      span!.end(time as number);
    }
    const { count, sum } = (await read()).histogram('vllm:e2e_request_latency_seconds');
    expect([count, sum]).toEqual([4, 16]);
    expect(dropped()).toEqual({ invalidValue: 4 });
  });

  it('ends it once, and its span once, whoever came first', async () => {
    const { engine, traced, read } = startService();
    const request = engine.startRequest();
    request.end('length');
    request.span!.end();
    request.span!.end();
    expect(traced.spans).toHaveLength(1);
    expect(endings(await read())).toEqual({ length: 1 });
  });

  it('has its own method back once the request has ended', () => {
    const { engine } = startService();
    const request = engine.startRequest();
    const { end } = Object.getPrototypeOf(request.span) as Span;
    expect(request.span!.end).not.toBe(end);
    request.end();
    expect(request.span!.end).toBe(end);
  });

  it('after somebody else wrapped its end too, still does', async () => {
    const { engine, traced, read } = startService();
    const ends: string[] = [];
    for (const way of ['span', 'request']) {
      const request = engine.startRequest({ requestId: way });
      const span = request.span!;
      const inner = span.end;
      span.end = function wrapped(this: Span, endTime): void {
        ends.push(way);
        inner.call(this, endTime);
      };
      if (way === 'span') span.end();
      else request.end('length');
    }
    expect(ends).toEqual(['span', 'request']);
    expect(traced.spans).toHaveLength(2);
    expect(endings(await read())).toEqual({ stop: 1, length: 1 });
  });

  it('ends the request that adopted it after that, too, each once', async () => {
    const { vllm, engine, traced, read, dropped } = startService();
    const { span } = engine.startRequest({ requestId: 'own' });
    const inner = span!.end;
    let calls = 0;
    span!.end = function wrapped(this: Span, endTime): void {
      calls += 1;
      inner.call(this, endTime);
    };
    const adopter = vllm.adopt(span, { requestId: 'adopter' });
    span!.end();
    expect(adopter.ended).toBe(true);
    expect(calls).toBe(1);
    expect(traced.spans).toHaveLength(1);
    expect(endings(await read())).toEqual({ stop: 2 });
    expect(dropped()).toEqual({});
  });

  it('ends once where it takes no further property, and its request by itself', async () => {
    const { vllm, read, dropped } = startService();
    let ends = 0;
    const span: Span = Object.seal({
      spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }),
      isRecording: () => true,
      setAttribute: () => span,
      setAttributes: () => span,
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus: () => span,
      updateName: () => span,
      recordException: () => {},
      end: () => void (ends += 1),
    });
    const request = vllm.adopt(span);
    span.end();
    expect([ends, request.ended]).toEqual([1, false]);
    request.end('length');
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped()).toEqual({ providerError: 1 });
  });

  const STATUSES: readonly [string, readonly SpanStatus[], FinishReason][] = [
    ['none', [], 'stop'],
    ['UNSET', [{ code: SpanStatusCode.UNSET }], 'stop'],
    ['OK', [{ code: SpanStatusCode.OK }], 'stop'],
    ['ERROR', [{ code: SpanStatusCode.ERROR, message: 'no' }], 'error'],
    [
      'ERROR, then UNSET, which does not count',
      [{ code: SpanStatusCode.ERROR }, { code: SpanStatusCode.UNSET }],
      'error',
    ],
    ['ERROR, then OK', [{ code: SpanStatusCode.ERROR }, { code: SpanStatusCode.OK }], 'stop'],
    ['OK, which is final, then ERROR', [{ code: SpanStatusCode.OK }, { code: SpanStatusCode.ERROR }], 'stop'],
  ];

  describe.each([
    ['sampled', {}],
    ['recorded without being sampled', { sampler: createAlwaysRecordSampler(new AlwaysOffSampler()) }],
    ['not sampled', { sampler: new AlwaysOffSampler() }],
  ])('and that is %s', (_, tracing) => {
    it.each(STATUSES)('tells the reason by its status: %s', async (__, statuses, reason) => {
      const { engine, read } = startService({}, tracing);
      const span = engine.startRequest().span!;
      for (const status of statuses) expect(span.setStatus(status)).toBe(span);
      span.end();
      expect(endings(await read())).toEqual({ [reason]: 1 });
    });
  });

  it('does not throw for a status that is none where it is not sampled', async () => {
    const { engine, read } = startService({}, { sampler: new AlwaysOffSampler() });
    const span = engine.startRequest().span!;
    span.setStatus(null as unknown as SpanStatus);
    span.end();
    expect(endings(await read())).toEqual({ stop: 1 });
  });
});

describe('requests that are sampled at 1 %', () => {
  it('are counted at 100 %, on every way they end', async () => {
    // Trace ids spread evenly over the range the sampler looks at.
    let traces = 0;
    let spans = 0;
    const idGenerator = {
      generateTraceId: () =>
        `${Math.floor(((traces++ % 1200) * 2 ** 32) / 1200)
          .toString(16)
          .padStart(8, '0')}${'0'.repeat(23)}1`,
      generateSpanId: () => (spans += 1).toString(16).padStart(16, '0'),
    };
    const sampler = new TraceIdRatioBasedSampler(0.01);
    const { engine, traced, read, vllm } = startService({}, { sampler, idGenerator });
    const ways: ((position: number) => void)[] = [
      () => engine.startRequest().end('stop'),
      () => engine.startRequest().end('length'),
      () => engine.startRequest().span!.end(),
      () => engine.startRequest().span!.setStatus({ code: SpanStatusCode.ERROR }).end(),
      () => engine.startRequest({ signal: AbortSignal.abort() }),
      (position) => {
        engine.startRequest({ requestId: `r${position}` });
        vllm.observe(message(1, output(`r${position}`, 1, { finish_reason: 4 })));
      },
    ];
    for (let position = 0; position < 1200; position += 1) ways[position % ways.length]!(position);
    const reading = await read();
    const names = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST];
    expect(counts(reading, names)).toEqual(all(names, 1200));
    expect(endings(reading)).toEqual({ stop: 400, length: 200, error: 200, abort: 200, repetition: 200 });
    expect(traced.spans).toHaveLength(12);
  });
});

describe('a request without tracing', () => {
  it('is counted without a tracer provider, and carries a parent it was given on', async () => {
    const service = startService();
    const vllm = new VllmInstrumentation({ modelName: 'test-model', clock: service.clock });
    vllm.setMeterProvider(service.provider);
    const traceHeaders = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const request = vllm.engine(0).startRequest({ traceHeaders });
    expect(request.span!.isRecording()).toBe(false);
    expect(request.span!.spanContext().traceId).toBe('a'.repeat(32));
    request.recordPreemption();
    request.span!.end();
    const reading = await service.read();
    expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
  });

  it('ends alone where a tracer hands out one no-op span to everybody', async () => {
    const { vllm, engine, read } = startService();
    const shared = trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 });
    const tracer = { startSpan: () => shared } as unknown as Tracer;
    vllm.setTracerProvider({ getTracer: () => tracer });
    const [first, second] = [engine.startRequest(), engine.startRequest()];
    second.end('length');
    expect([first.ended, second.ended]).toEqual([false, true]);
    first.span!.end();
    expect(endings(await read())).toEqual({ stop: 1, length: 1 });
  });

  it('learns of a status that was set before it, or for another, where one span is that of all and does not tell it', async () => {
    const { vllm, engine, read, dropped } = startService();
    const statuses: SpanStatus[] = [];
    let ends = 0;
    const shared = {
      spanContext: () => ({ traceId: '', spanId: '', traceFlags: 0 }),
      isRecording: () => true,
      setAttribute: () => shared,
      setAttributes: () => shared,
      recordException: () => {},
      setStatus: (status: SpanStatus) => {
        statuses.push(status);
        return shared;
      },
      end: () => void (ends += 1),
    };
    const tracer = { startSpan: () => shared } as unknown as Tracer;
    vllm.setTracerProvider({ getTracer: () => tracer });
    engine.startRequest();
    shared.setStatus({ code: SpanStatusCode.ERROR });
    engine.startRequest();
    shared.end();
    expect(endings(await read())).toEqual({ error: 2 });

    engine.startRequest();
    const inner = shared.setStatus;
    shared.setStatus = function wrapped(status): typeof shared {
      return inner.call(this, status);
    };
    shared.end();
    engine.startRequest().end('error');
    expect(endings(await read())).toEqual({ stop: 1, error: 3 });
    expect(statuses.map(({ code }) => code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR]);
    expect(ends).toBe(3);
    expect(dropped()).toEqual({});
  });

  it('does not reach into a span that cannot be written to', async () => {
    const { vllm, engine, traced, read, dropped } = startService();
    const tracer = {
      startSpan: (...call: Parameters<Tracer['startSpan']>) =>
        Object.freeze(traced.tracer.startSpan(...call)),
    } as Tracer;
    vllm.setTracerProvider({ getTracer: () => tracer });
    engine.startRequest().end('length');
    expect(endings(await read())).toEqual({ length: 1 });
    expect(dropped().providerError).toBeGreaterThan(0);
  });
});

describe('tracing that throws', () => {
  class Failing implements SpanProcessor {
    readonly #where: string;

    constructor(where: string) {
      this.#where = where;
    }

    onStart(_span: unknown, _parent: Context): void {
      this.#fail('onStart');
    }

    onEnding(): void {
      this.#fail('onEnding');
    }

    onEnd(): void {
      this.#fail('onEnd');
    }

    forceFlush(): Promise<void> {
      return Promise.resolve();
    }

    shutdown(): Promise<void> {
      return Promise.resolve();
    }

    #fail(where: string): void {
      if (where === this.#where) throw new Error(`the processor failed in ${where}`);
    }
  }

  it.each(['onStart', 'onEnding', 'onEnd'])('in a processor, in %s, costs no sample', async (where) => {
    const { engine, read, dropped } = startService({}, { spanProcessors: [new Failing(where)] });
    const request = engine.startRequest();
    request.recordPreemption();
    expect(request.run(() => 'ran')).toBe('ran');
    expect(request.end()).toBe(true);
    expect((await read()).histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
    expect(dropped()).toEqual({ providerError: 1 });
  });

  it("in a processor reaches the application from its own span.end(), after the request's sample", async () => {
    const { engine, read } = startService({}, { spanProcessors: [new Failing('onEnd')] });
    const request = engine.startRequest();
    expect(() => request.span!.end()).toThrow('the processor failed in onEnd');
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it.each(['startSpan', 'addEvent', 'setAttributes', 'setStatus', 'recordException', 'end', 'isRecording'])(
    'in %s costs no sample',
    async (method) => {
      const { vllm, traced, engine, read, dropped } = startService();
      const fail = (): never => {
        throw new Error(`${method} failed`);
      };
      const startSpan = (...call: Parameters<Tracer['startSpan']>): Span => {
        if (method === 'startSpan') return fail();
        return Object.assign(traced.tracer.startSpan(...call), { [method]: fail });
      };
      vllm.setTracerProvider({ getTracer: () => ({ startSpan }) as Tracer });
      const request = engine.startRequest();
      request.recordPreemption();
      expect(request.end('error', { error: new Error('out of blocks') })).toBe(true);
      const reading = await read();
      expect(endings(reading)).toEqual({ error: 1 });
      expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 1, sum: 1 });
      expect(dropped().providerError).toBeGreaterThan(0);
    },
  );

  it('in getTracer is counted, and the tracer of before stays', () => {
    const { vllm, engine, traced, dropped } = startService();
    vllm.setTracerProvider({
      getTracer: () => {
        throw new Error('no tracer today');
      },
    });
    engine.startRequest().end();
    expect(traced.spans).toHaveLength(1);
    expect(dropped()).toEqual({ providerError: 1 });
  });
});

describe('the Context given to the meter', () => {
  it('carries a sampled span for exemplars, and nothing else of the request', () => {
    const { vllm, engine, provider } = startService();
    const contexts: (Context | undefined)[] = [];
    const histogram = { record: (_v: number, _a: object, ctx?: Context): void => void contexts.push(ctx) };
    vllm.setMeterProvider({
      getMeter: (name, version) =>
        Object.assign(Object.create(provider.getMeter(name, version) as object), {
          createHistogram: () => histogram,
        }) as ReturnType<typeof provider.getMeter>,
    });
    contexts.length = 0;
    const request = engine.startRequest();
    const spanContext = request.span!.spanContext();
    expect(spanContext.traceFlags).toBe(TraceFlags.SAMPLED);
    request.end();
    expect(contexts).toHaveLength(12);
    for (const given of contexts) expect(trace.getSpanContext(given!)).toEqual(spanContext);
  });
});
