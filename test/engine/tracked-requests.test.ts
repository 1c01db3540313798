import {
  context,
  createNoopMeter,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  TraceFlags,
  type Histogram,
  type Meter,
} from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import type { EngineCoreOutput } from '../../src/engine/messages.ts';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService, type Service } from '../support/service.ts';

const TTFT = 'vllm:time_to_first_token_seconds';
const E2E = 'vllm:e2e_request_latency_seconds';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** Every histogram with one sample per ended request, but for the one that needs an arrival. */
const WITHOUT_ARRIVAL = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST].filter((name) => name !== E2E);

const track = (options: Parameters<typeof startService>[0] = {}): Service =>
  startService({ trackUnknownRequests: true, ...options });

describe('a request that nobody started', () => {
  it('is counted and has no samples where trackUnknownRequests is not set', async () => {
    const { vllm, read, dropped } = startService();
    vllm.observe(message(1, output('r', 1, { finish_reason: 0 })));
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({});
    expect(dropped()).toEqual({ unknownRequest: 1 });
  });
});

describe('with trackUnknownRequests, a request', () => {
  it('begins with its first output, on the engine of the message', async () => {
    const { vllm, dropped } = track();
    vllm.observe({ ...message(1, output('r', 1), output('s', 0)), engine_index: 3 });
    expect(vllm.status().requestsInFlight).toBe(2);
    vllm.observe({ ...message(2, output('r', 1), output('s', 1)), engine_index: 3 });
    expect(vllm.status().requestsInFlight).toBe(2);
    expect(vllm.engineIndices).toEqual([0, 3]);
    expect(dropped()).toEqual({});
  });

  it('has all its samples but those that need its arrival', async () => {
    const { vllm, read, clock, dropped } = track();
    const events = [queued(10), scheduled(12)];
    const prefill_stats = { num_prompt_tokens: 100, num_computed_tokens: 70, num_cached_tokens: 30 };
    vllm.observe(message(13, output('r', 1, { events, prefill_stats })), 1000);
    clock.wall = 1010;
    vllm.observe(message(14, output('r', 2, { events: [preempted(13.5), scheduled(13.75)] })), 1010);
    vllm.observe(message(16, output('r', 1, { finish_reason: 1 })), 1020);
    const reading = await read();
    expect(counts(reading, WITHOUT_ARRIVAL)).toEqual(all(WITHOUT_ARRIVAL, 1));
    expect(counts(reading, [TTFT, E2E])).toEqual(all([TTFT, E2E], 0));
    expect(endings(reading)).toEqual({ length: 1 });
    const sums = Object.entries({
      'vllm:request_num_preemptions': 1,
      'vllm:request_prompt_tokens': 100,
      'vllm:request_generation_tokens': 4,
      'vllm:request_prefill_kv_computed_tokens': 70,
      'vllm:request_queue_time_seconds': 2,
      'vllm:request_prefill_time_seconds': 1,
      'vllm:request_decode_time_seconds': 3,
      'vllm:request_inference_time_seconds': 4,
      'vllm:request_time_per_output_token_seconds': 1,
      'vllm:request_params_n': 1,
      'vllm:request_max_num_generation_tokens': 4,
      'vllm:inter_token_latency_seconds': 3,
      'vllm:iteration_tokens_total': 74,
    });
    expect(sums.map(([name]) => [name, reading.histogram(name).sum])).toEqual(sums);
    expect(reading.histogram('vllm:request_params_max_tokens').count).toBe(0);
    expect(reading.value('vllm:generation_tokens')).toBe(4);
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(dropped()).toEqual({});
  });

  it('hands no instrument a sample that needs its arrival: not every provider passes over NaN', () => {
    const { vllm } = track();
    const names = new Set<string>();
    const createHistogram = (name: string): Histogram => {
      const record = (value: number): unknown => names.add(`${name} ${Number.isNaN(value)}`);
      return { record, bind: () => ({ record }) } as Histogram;
    };
    const meter = Object.assign(Object.create(createNoopMeter()) as Meter, { createHistogram });
    vllm.setMeterProvider({ getMeter: () => meter });
    vllm.observe(message(13, output('r', 1, { finish_reason: 0 })));
    expect([...names].filter((name) => name.endsWith('true'))).toEqual([]);
    expect(names).toContain('vllm.request_queue_time_seconds false');
  });

  it('that was started keeps its arrival, and is no second one', async () => {
    const { vllm, engine, read } = track();
    const request = engine.startRequest({ requestId: 'r', arrivalTime: 998 });
    vllm.observe(message(1, output('r', 1, { finish_reason: 0 })), 1002);
    expect(request.ended).toBe(true);
    const reading = await read();
    expect(reading.histogram(TTFT)).toMatchObject({ count: 1, sum: 4 });
    expect(reading.histogram(E2E)).toMatchObject({ count: 1, sum: 4 });
    expect(endings(reading)).toEqual({ stop: 1 });
  });

  it.each<[string, EngineCoreOutput]>([
    ['a number', output(5 as unknown as string, 1)],
    ['nothing', output(undefined as unknown as string, 1)],
    ['null', output(null as unknown as string, 1)],
    ['an empty text', output('', 1)],
    ['an object', output({} as unknown as string, 1)],
    ['a symbol', output(Symbol('r') as unknown as string, 1)],
  ])('does not begin for an id that is no text, which is counted: %s', async (_, given) => {
    const { vllm, read, dropped } = track();
    vllm.observe(message(1, given, output('r', 1)));
    expect(vllm.status().requestsInFlight).toBe(1);
    expect((await read()).value('vllm:generation_tokens')).toBe(1);
    expect(dropped()).toEqual({ malformedMessage: 1 });
  });

  it('does not begin with finished_requests, or on a disabled or removed instrumentation', () => {
    const { vllm, dropped } = track();
    vllm.observe({ finished_requests: ['r'] });
    vllm.engine(1);
    vllm.removeEngine(1);
    vllm.observe({ ...message(1, output('r', 1)), engine_index: 1 });
    vllm.disable();
    vllm.observe(message(1, output('r', 1)));
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(dropped()).toEqual({ removedEngine: 1 });
  });
});

describe('a tracked request ends', () => {
  it.each<[string, (service: Service) => void, string]>([
    [
      'with an output that has a reason',
      ({ vllm }) => vllm.observe(message(2, output('r', 1, { finish_reason: 4 }))),
      'repetition',
    ],
    [
      'with an output of no tokens that has a reason',
      ({ vllm }) => vllm.observe(message(2, output('r', 0, { finish_reason: 0 }))),
      'stop',
    ],
    ['when its engine dies', ({ vllm }) => vllm.observe({ engine_dead: true, engine_index: 0 }), 'error'],
    ['when an engine of unknown index dies', ({ vllm }) => vllm.observe({ engine_dead: true }), 'error'],
    ['with the instrumentation', ({ vllm }) => vllm.disable(), 'abort'],
    [
      'after ten minutes without an output',
      ({ clock }) => {
        clock.wall += 600;
      },
      'abort',
    ],
  ])('%s, and is not begun again by a late output', async (_, end, reason) => {
    const service = track();
    const { vllm, read, dropped } = service;
    vllm.observe(message(1, output('r', 1)));
    end(service);
    expect(endings(await read())).toEqual({ [reason]: 1 });
    expect(vllm.status().requestsInFlight).toBe(0);
    vllm.enable();
    vllm.observe(message(3, output('r', 1)));
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ [reason]: 1 });
    expect(dropped()).toEqual({ afterEnd: 1 });
  });

  it('with finished_requests, which is the last the engine says of it: an output after that begins another', async () => {
    const { vllm, read, dropped } = track();
    vllm.observe(message(1, output('r', 1)));
    vllm.observe({ finished_requests: ['r'] });
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ abort: 1 });
    vllm.observe(message(3, output('r', 1, { finish_reason: 0 })));
    expect(endings(await read())).toEqual({ abort: 1, stop: 1 });
    expect(dropped()).toEqual({});
  });

  it('by no means within ten minutes of its last output', async () => {
    const { vllm, read, clock } = track();
    vllm.observe(message(1, output('r', 1)));
    for (let round = 0; round < 3; round += 1) {
      clock.wall += 599;
      vllm.observe(message(2, output('r', 1)));
      expect(endings(await read())).toEqual({});
    }
    clock.wall += 599;
    expect(endings(await read())).toEqual({});
    clock.wall += 1;
    expect(endings(await read())).toEqual({ abort: 1 });
  });

  it('with its first output, where that has a reason', async () => {
    const { vllm, read, dropped } = track();
    vllm.observe(message(1, output('r', 5, { finish_reason: 1 }), output('r', 1)));
    const reading = await read();
    expect(endings(reading)).toEqual({ length: 1 });
    expect(reading.histogram('vllm:request_generation_tokens')).toMatchObject({ count: 1, sum: 5 });
    expect(dropped()).toEqual({ afterEnd: 1 });
  });
});

describe('a request that was aborted here', () => {
  it.each<[string, (service: Service) => void]>([
    [
      'after outputs came',
      ({ vllm }) => vllm.observe(message(1, output('another', 1, { finish_reason: 0 }))),
    ],
    ['before any output came', () => {}],
  ])('%s is not begun again by the outputs that still come for it', async (_, before) => {
    const service = track();
    const { vllm, engine, read, dropped } = service;
    before(service);
    const earlier = endings(await read());
    engine.startRequest({ requestId: 'r' }).end('abort');
    vllm.observe(message(2, output('r', 1), output('r', 1)));
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(endings(await read())).toEqual({ ...earlier, abort: 1 });
    expect(dropped()).toEqual({ afterEnd: 2 });
  });
});

describe('the span of a tracked request', () => {
  it('lasts from its first output to its end, and says what is known', () => {
    const { vllm, traced } = track();
    const events = [queued(10), scheduled(12)];
    vllm.observe(message(13, output('r', 1, { events })), 1001);
    vllm.observe(message(15, output('r', 1, { finish_reason: 0 })), 1003.5);
    expect(traced.span).toMatchObject({
      name: 'llm_request',
      kind: SpanKind.SERVER,
      startTime: [1001, 0],
      endTime: [1003, 500_000_000],
    });
    expect(traced.span.attributes).toEqual({
      'gen_ai.request.id': 'r',
      'gen_ai.request.model': 'test-model',
      'gen_ai.request.n': 1,
      'gen_ai.request.choice.count': 1,
      'vllm.engine.index': 0,
      'gen_ai.usage.prompt_tokens': 0,
      'gen_ai.usage.completion_tokens': 2,
      'gen_ai.usage.input_tokens': 0,
      'gen_ai.usage.output_tokens': 2,
      'gen_ai.response.finish_reasons': ['stop'],
      'vllm.request.num_preemptions': 0,
      'gen_ai.latency.time_in_queue': 2,
      'gen_ai.latency.time_in_model_prefill': 1,
      'gen_ai.latency.time_in_model_decode': 2,
      'gen_ai.latency.time_in_model_inference': 3,
    });
  });

  it('has its parent from the headers that the engine gives back', () => {
    const { vllm, traced } = track();
    const trace_headers = { traceparent: TRACEPARENT };
    vllm.observe(message(1, output('r', 1, { trace_headers, finish_reason: 0 })));
    expect(traced.span.spanContext().traceId).toBe(TRACE);
    expect(traced.span.parentSpanContext).toMatchObject({
      spanId: SPAN,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
  });

  it.each<[string, unknown]>([
    ['none', undefined],
    ['null', null],
    ['empty ones', {}],
    ['a number', 5],
    ['a text', TRACEPARENT],
    ['others', { traceparent: 'none', host: 'gateway' }],
    [
      'such that fail',
      {
        get traceparent(): never {
          throw new RangeError('truncated');
        },
      },
    ],
  ])('is a root where they name no parent, whatever is active: %s', (_, trace_headers) => {
    const { vllm, traced } = track();
    const active = trace.setSpan(ROOT_CONTEXT, traced.tracer.startSpan('poll'));
    const more = { trace_headers, finish_reason: 0 } as Partial<EngineCoreOutput>;
    context.with(active, () => vllm.observe(message(1, output('r', 1, more))));
    expect(traced.span.parentSpanContext).toBeUndefined();
  });
});
