import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../src/request/finish-reason.ts';
import { getRequest, recordPreemption } from '../../src/request/request-context.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { message, output, preempted } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

const N = 'vllm:request_params_n';
const LONGEST = 'vllm:request_max_num_generation_tokens';

function reasons(span: ReadableSpan): unknown {
  return span.attributes['gen_ai.response.finish_reasons'];
}

describe('a request with several choices', () => {
  it('is as many engine requests, named as vLLM names them', () => {
    const { vllm, engine } = startService();
    const request = engine.startRequest({ requestId: 'r', n: 3 });
    expect(request.requestId).toBe('r');
    expect(request.choices.map(({ requestId }) => requestId)).toEqual(['0_r', '1_r', '2_r']);
    expect(vllm.status().requestsInFlight).toBe(3);
    for (const choice of request.choices) expect(choice.choices).toEqual([choice]);
  });

  it('is fed by the messages for its choices, not by its own id', async () => {
    const { vllm, engine, read, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r', n: 2 });
    vllm.observe(message(1, output('0_r', 2), output('1_r', 3), output('r', 9)));
    vllm.observe(message(2, output('1_r', 1, { finish_reason: 0 })));
    expect(request.ended).toBe(false);
    vllm.observe(message(3, output('0_r', 1, { finish_reason: 1 })));
    expect(request.ended).toBe(true);
    expect((await read()).value('vllm:generation_tokens')).toBe(7);
    expect(dropped()).toEqual({ unknownRequest: 1 });
  });

  it('records n and the longest output once, when its last choice ends, and all else per choice', async () => {
    const { engine, read } = startService();
    const { choices } = engine.startRequest({ promptTokens: 10, maxTokens: 64, n: 3 });
    for (const [position, tokens] of [4, 9, 2].entries()) {
      choices[position]!.recordTokens(tokens);
      for (let count = 0; count < position; count += 1) choices[position]!.recordPreemption();
    }
    choices[1]!.end('length');
    choices[0]!.end('stop');
    let reading = await read();
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 2));
    expect(counts(reading, PER_USER_REQUEST)).toEqual(all(PER_USER_REQUEST, 0));
    choices[2]!.end('repetition');
    reading = await read();
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 3));
    expect(reading.histogram(N)).toMatchObject({ count: 1, sum: 3 });
    expect(reading.histogram(LONGEST)).toMatchObject({ count: 1, sum: 9 });
    expect(reading.histogram('vllm:request_generation_tokens').sum).toBe(15);
    expect(reading.histogram('vllm:request_prompt_tokens').sum).toBe(30);
    expect(reading.histogram('vllm:request_params_max_tokens')).toMatchObject({ count: 3, sum: 192 });
    expect(reading.histogram('vllm:request_num_preemptions')).toEqual({
      count: 3,
      sum: 3,
      buckets: [2, 1, 0, 0, 0, 0, 0, 0],
    });
    expect(endings(reading)).toEqual({ stop: 1, length: 1, repetition: 1 });
  });

  it.each<[string, (FinishReason | undefined)[]]>([
    ['all', ['abort', 'abort']],
    ['the last', ['stop', 'abort']],
    ['the first', ['abort', 'length']],
    ['those left, with the parent', ['stop', undefined]],
  ])('records them once also when choices are aborted: %s', async (_, ends) => {
    const { engine, read } = startService();
    const request = engine.startRequest({ n: 2 });
    for (const [position, reason] of ends.entries()) {
      request.choices[position]!.recordTokens(position + 1);
      if (reason !== undefined) request.choices[position]!.end(reason);
    }
    request.end('abort');
    const reading = await read();
    expect(reading.histogram(N)).toMatchObject({ count: 1, sum: 2 });
    expect(reading.histogram(LONGEST)).toMatchObject({ count: 1, sum: 2 });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 2));
  });

  it('of one choice has n = 1 recorded once, like any other', async () => {
    const { engine, read } = startService();
    engine.startRequest({ n: 1 }).end();
    expect((await read()).histogram(N)).toEqual({ count: 1, sum: 1, buckets: [1, 0, 0, 0, 0, 0] });
  });

  it('ends all that is left when it ends, once', async () => {
    const { engine, read } = startService();
    const request = engine.startRequest({ n: 3 });
    request.choices[0]!.end('length');
    expect(request.end('stop')).toBe(true);
    expect(request.end('error')).toBe(false);
    expect(request.choices.map(({ ended }) => ended)).toEqual([true, true, true]);
    expect(endings(await read())).toEqual({ length: 1, stop: 2 });
  });

  it('ends with its last choice', () => {
    const { engine } = startService();
    const request = engine.startRequest({ n: 2 });
    request.choices[1]!.end();
    expect(request.ended).toBe(false);
    request.choices[0]!.end();
    expect(request.ended).toBe(true);
    expect(request.end()).toBe(false);
  });

  it('does not guess which choice is meant: what is said of the whole is dropped and counted', async () => {
    const { engine, read, dropped } = startService();
    const request = engine.startRequest({ n: 2 });
    expect(request.recordPreemption()).toBe(false);
    expect(request.recordEvent('queued', 1)).toBe(false);
    expect(request.recordTokens(4)).toBe(false);
    expect(request.run(() => recordPreemption())).toBe(false);
    expect(dropped()).toEqual({ ambiguousChoice: 4 });
    request.end();
    expect(request.recordPreemption()).toBe(false);
    expect(request.recordTokens(4)).toBe(false);
    expect(dropped()).toEqual({ ambiguousChoice: 4, afterEnd: 2 });
    const reading = await read();
    expect(reading.value('vllm:num_preemptions')).toBe(0);
    expect(reading.value('vllm:generation_tokens')).toBe(0);
  });

  it('counts the preemptions of its choices together, each for itself', async () => {
    const { vllm, engine, read } = startService();
    const request = engine.startRequest({ requestId: 'r', n: 2 });
    vllm.observe(message(1, output('1_r', 0, { events: [preempted(1), preempted(2)] })));
    request.choices[0]!.run(() => recordPreemption());
    expect(request.choices.map(({ numPreemptions }) => numPreemptions)).toEqual([1, 2]);
    expect(request.numPreemptions).toBe(3);
    request.end();
    expect(request.numPreemptions).toBe(3);
    expect((await read()).histogram('vllm:request_num_preemptions').buckets.slice(0, 2)).toEqual([1, 1]);
  });

  it('is found in its own Context, and each choice in its own', () => {
    const { engine } = startService();
    const request = engine.startRequest({ n: 2 });
    request.run(() => {
      expect(getRequest()).toBe(request);
      request.choices[1]!.run(() => expect(getRequest()).toBe(request.choices[1]));
    });
  });

  it('is aborted as a whole by its signal', async () => {
    const { engine, read } = startService();
    const controller = new AbortController();
    const request = engine.startRequest({ n: 2, signal: controller.signal });
    request.choices[0]!.end('stop');
    controller.abort();
    expect(request.ended).toBe(true);
    expect(endings(await read())).toEqual({ stop: 1, abort: 1 });
  });

  it('with a signal that has aborted ends at its start', async () => {
    const { engine, read } = startService();
    expect(engine.startRequest({ n: 2, signal: AbortSignal.abort() }).ended).toBe(true);
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 2 });
    expect(reading.histogram(N).count).toBe(1);
  });

  it('under an id that lives already counts all the same', async () => {
    const { engine, read, dropped } = startService();
    engine.startRequest({ requestId: 'r', n: 2 }).end();
    const requests = [1, 2].map(() => engine.startRequest({ requestId: 'r', n: 2 }));
    for (const request of requests) request.end();
    expect(dropped()).toEqual({ duplicateRequestId: 2 });
    expect(endings(await read())).toEqual({ stop: 6 });
  });
});

describe('the spans of a request with several choices', () => {
  it('are one for the whole and one for each choice below it', () => {
    const { engine, traced, clock } = startService();
    const request = engine.startRequest({ requestId: 'r', promptTokens: 10, n: 2 });
    request.choices[0]!.recordTokens(4);
    request.choices[1]!.recordTokens(5);
    request.choices[1]!.recordPreemption(51);
    clock.wall = 1003;
    request.choices[1]!.end('length');
    clock.wall = 1007;
    request.choices[0]!.end('stop');
    const [second, first, whole] = traced.spans;
    expect([whole, first, second].map((span) => span!.name)).toEqual(Array(3).fill('llm_request'));
    for (const choice of [first!, second!]) {
      expect(choice.parentSpanContext?.spanId).toBe(whole!.spanContext().spanId);
      expect(choice.spanContext().traceId).toBe(whole!.spanContext().traceId);
    }
    expect([first, second].map((span) => span!.attributes['gen_ai.request.id'])).toEqual(['0_r', '1_r']);
    expect([first, second, whole].map((span) => reasons(span!))).toEqual([
      ['stop'],
      ['length'],
      ['stop', 'length'],
    ]);
    expect([first, second, whole].map((span) => span!.endTime)).toEqual([
      [1007, 0],
      [1003, 0],
      [1007, 0],
    ]);
    expect(second!.events).toHaveLength(1);
    expect(whole!.events).toHaveLength(0);
    expect(whole!.attributes).toEqual({
      'gen_ai.request.id': 'r',
      'gen_ai.request.model': 'test-model',
      'gen_ai.request.n': 2,
      'gen_ai.request.choice.count': 2,
      'vllm.engine.index': 0,
      'gen_ai.usage.prompt_tokens': 10,
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.completion_tokens': 9,
      'gen_ai.usage.output_tokens': 9,
      'gen_ai.response.finish_reasons': ['stop', 'length'],
      'vllm.request.num_preemptions': 1,
      'gen_ai.latency.e2e': 7,
    });
  });

  it('all end with the one of the whole, at the time it was given', async () => {
    const { engine, traced, read } = startService();
    const said = captureDiag('');
    const request = engine.startRequest({ n: 2 });
    request.choices[0]!.end('length', { receivedAt: 1001 });
    request.span!.setStatus({ code: SpanStatusCode.ERROR });
    request.span!.end([1005, 0]);
    expect(request.ended).toBe(true);
    expect(traced.spans.map(({ endTime }) => endTime[0])).toEqual([1001, 1005, 1005]);
    const reading = await read();
    expect(endings(reading)).toEqual({ length: 1, error: 1 });
    expect(reading.histogram('vllm:e2e_request_latency_seconds').sum).toBe(6);
    // The SDK would tell of a span that is ended twice.
    expect(said).toEqual([]);
  });

  it("end one by one: a choice's own span ends that choice alone", async () => {
    const { engine, read } = startService();
    const request = engine.startRequest({ n: 2 });
    request.choices[1]!.span!.end();
    expect(request.choices.map(({ ended }) => ended)).toEqual([false, true]);
    expect(endings(await read())).toEqual({ stop: 1 });
  });

  it('tell of an error in a choice on the whole too, though the rest ended well', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest({ n: 2 });
    request.choices[0]!.end('error', { error: new RangeError('out of blocks') });
    request.choices[1]!.end('stop');
    expect(traced.spans.map(({ status }) => status.code)).toEqual([
      SpanStatusCode.ERROR,
      SpanStatusCode.UNSET,
      SpanStatusCode.ERROR,
    ]);
    expect(traced.spans[2]!.status.message).toBe('out of blocks');
    expect(traced.spans[2]!.attributes['error.type']).toBe('RangeError');
  });

  it('keep the error of a choice when the whole is ended after it', () => {
    const { engine, traced } = startService();
    const request = engine.startRequest({ n: 2 });
    request.choices[0]!.end('error', { error: new RangeError('out of blocks') });
    request.end('stop');
    expect(traced.spans[2]!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'out of blocks' });
  });

  it('carry the error that the whole was ended with', () => {
    const { engine, traced } = startService();
    engine.startRequest({ n: 2 }).end('error', { error: new RangeError('out of blocks') });
    expect(traced.spans.map(({ status }) => status.message)).toEqual(Array(3).fill('out of blocks'));
  });
});
