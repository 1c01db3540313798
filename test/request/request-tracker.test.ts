import { describe, expect, it } from 'vitest';
import type { EngineCoreEvent, EngineCoreOutput } from '../../src/engine/messages.ts';
import type { FinishReason } from '../../src/request/finish-reason.ts';
import type { StartRequestOptions } from '../../src/request/request-options.ts';
import { message, output, preempted, queued, scheduled } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

/** One message of the engine for the request: its time stamp, when it was received, its output. */
interface Step {
  readonly at?: number | undefined;
  readonly received?: number | undefined;
  readonly tokens?: number | undefined;
  readonly events?: readonly EngineCoreEvent[] | undefined;
  readonly more?: Partial<EngineCoreOutput> | undefined;
}

const TTFT = 'vllm:time_to_first_token_seconds';
const ITL = 'vllm:inter_token_latency_seconds';
const QUEUE = 'vllm:request_queue_time_seconds';
const PREFILL = 'vllm:request_prefill_time_seconds';
const DECODE = 'vllm:request_decode_time_seconds';
const INFERENCE = 'vllm:request_inference_time_seconds';
const E2E = 'vllm:e2e_request_latency_seconds';
const PER_TOKEN = 'vllm:request_time_per_output_token_seconds';
const KV_COMPUTED = 'vllm:request_prefill_kv_computed_tokens';
const PREEMPTIONS = 'vllm:request_num_preemptions';
const GENERATED = 'vllm:request_generation_tokens';
const PROMPT = 'vllm:request_prompt_tokens';

const PREFILL_STATS = {
  num_prompt_tokens: 100,
  num_computed_tokens: 70,
  num_cached_tokens: 30,
  num_local_cached_tokens: 20,
  num_external_cached_tokens: 10,
};

/** The life of one request that arrives at 1000 by the wall clock, fed from the engine's messages. */
async function live(
  steps: readonly Step[],
  options: StartRequestOptions = {},
): Promise<{ reading: Reading; ended: boolean }> {
  const { vllm, engine, clock, read } = startService();
  const request = engine.startRequest({ requestId: 'r', ...options });
  for (const { at, received, tokens = 0, events, more } of steps) {
    clock.wall = received ?? clock.wall;
    const batch = message(0, output('r', tokens, { events, ...more }));
    vllm.observe({ ...batch, timestamp: at }, received);
  }
  return { reading: await read(), ended: request.ended };
}

/** Sum and count of a histogram. */
function sample(reading: Reading, name: string): [count: number, sum: number] {
  const { count, sum } = reading.histogram(name);
  return [count, sum];
}

describe('the life of an engine request, for each output', () => {
  it('1. counts new tokens, for the engine and for the request', async () => {
    const { reading } = await live([
      { at: 1, tokens: 3 },
      { at: 2, tokens: 2, more: { finish_reason: 0 } },
    ]);
    expect(reading.value('vllm:generation_tokens')).toBe(5);
    expect(reading.histogram(GENERATED)).toMatchObject({ count: 1, sum: 5 });
  });

  it('2. takes the first QUEUED for the time it was queued', async () => {
    const { reading } = await live([
      { at: 1, events: [queued(10)] },
      { at: 2, events: [queued(12), scheduled(15)] },
      { at: 20, tokens: 1, more: { finish_reason: 0 } },
    ]);
    expect(sample(reading, QUEUE)).toEqual([1, 5]);
  });

  it('2. takes the first SCHEDULED for the time it was scheduled', async () => {
    const { reading } = await live([
      { at: 1, events: [queued(10), scheduled(12), preempted(13), scheduled(30)] },
      { at: 40, tokens: 1, more: { finish_reason: 0 } },
    ]);
    expect(sample(reading, QUEUE)).toEqual([1, 2]);
    expect(sample(reading, PREFILL)).toEqual([1, 28]);
  });

  it('2. adds every PREEMPTED to the request and to the engine', async () => {
    const { reading } = await live([
      { at: 1, tokens: 1, events: [preempted(1), preempted(2)] },
      { at: 2, events: [preempted(3)] },
    ]);
    expect(reading.value('vllm:num_preemptions')).toBe(3);
    expect(sample(reading, PREEMPTIONS)).toEqual([0, 0]);
    const ended = await live([
      { at: 1, tokens: 1, events: [preempted(1), preempted(2)] },
      { at: 2, events: [preempted(3)], more: { finish_reason: 1 } },
    ]);
    expect(ended.reading.histogram(PREEMPTIONS)).toEqual({
      count: 1,
      sum: 3,
      buckets: [0, 0, 1, 0, 0, 0, 0, 0],
    });
  });

  it('2. applies the events of an output before it ends the request with it', async () => {
    const { reading } = await live([
      { at: 9, events: [queued(1), scheduled(4)], more: { finish_reason: 2 } },
    ]);
    expect(sample(reading, QUEUE)).toEqual([1, 3]);
  });

  it('3. ends the prefill with the first tokens: prompt counters, TTFT by the wall clock, first-token time', async () => {
    const { reading } = await live([
      { at: 10, events: [scheduled(8)], received: 1001 },
      { at: 12, tokens: 1, received: 1004, more: { prefill_stats: PREFILL_STATS } },
      { at: 15, tokens: 1, received: 1006, more: { finish_reason: 0 } },
    ]);
    expect(sample(reading, TTFT)).toEqual([1, 4]);
    expect(sample(reading, PREFILL)).toEqual([1, 4]);
    expect(sample(reading, DECODE)).toEqual([1, 3]);
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(reading.value('vllm:prompt_tokens_cached')).toBe(30);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(70);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_cache_hit' })).toBe(20);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'external_kv_transfer' })).toBe(10);
  });

  it('3. takes the whole prompt for computed where the first output has no prefill statistics', async () => {
    const { reading } = await live([{ at: 1, tokens: 1 }], { promptTokens: 100 });
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(100);
    expect(sample(reading, TTFT)[0]).toBe(1);
  });

  it('3. adds no prompt tokens again when a resumed request is prefilled anew', async () => {
    const { reading } = await live([
      { at: 1, tokens: 1, more: { prefill_stats: PREFILL_STATS } },
      { at: 2, tokens: 1, events: [preempted(1.5)], more: { prefill_stats: PREFILL_STATS } },
    ]);
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_compute' })).toBe(70);
    expect(sample(reading, TTFT)[0]).toBe(1);
  });

  it('3. records one ITL sample per later output, not per token, by the engine clock', async () => {
    const { reading } = await live([
      { at: 10, tokens: 1, received: 1000 },
      { at: 11, tokens: 4, received: 1020 },
      { at: 13, tokens: 1, received: 1040 },
    ]);
    expect(sample(reading, ITL)).toEqual([2, 3]);
    expect(sample(reading, TTFT)).toEqual([1, 0]);
    expect(reading.value('vllm:generation_tokens')).toBe(6);
  });

  it('4. takes the last output with tokens for the last-token time', async () => {
    const { reading } = await live([
      { at: 10, tokens: 1, events: [scheduled(8)] },
      { at: 14, tokens: 1 },
      { at: 30, more: { finish_reason: 1 } },
    ]);
    expect(sample(reading, DECODE)).toEqual([1, 4]);
    expect(sample(reading, INFERENCE)).toEqual([1, 6]);
  });

  it('resets no timestamp at a preemption: the pause is one long ITL, inside decode and inference', async () => {
    const { reading } = await live([
      { at: 10, tokens: 1, events: [queued(6), scheduled(8)] },
      { at: 11, tokens: 1 },
      { at: 43, tokens: 1, events: [preempted(12), scheduled(40)] },
      { at: 44, tokens: 1, more: { finish_reason: 0 } },
    ]);
    expect(sample(reading, ITL)).toEqual([3, 34]);
    expect(reading.histogram(ITL).buckets[17]).toBe(1);
    expect(sample(reading, DECODE)).toEqual([1, 34]);
    expect(sample(reading, INFERENCE)).toEqual([1, 36]);
    expect(sample(reading, QUEUE)).toEqual([1, 2]);
    expect(sample(reading, PREFILL)).toEqual([1, 2]);
    expect(sample(reading, PREEMPTIONS)).toEqual([1, 1]);
  });
});

const WHOLE_LIFE: readonly Step[] = [
  { at: 51, received: 1001, events: [queued(50)] },
  { at: 52, received: 1002, events: [scheduled(52), preempted(52.5), scheduled(53)] },
  { at: 55, received: 1004, tokens: 1, more: { prefill_stats: PREFILL_STATS } },
  { at: 58, received: 1008, tokens: 2, events: [preempted(56), scheduled(57)] },
  { at: 60, received: 1010, tokens: 2 },
];

const WHOLE_LIFE_QUANTITIES: readonly [string, number][] = [
  [E2E, 12],
  [QUEUE, 2],
  [PREFILL, 3],
  [DECODE, 5],
  [INFERENCE, 8],
  [PER_TOKEN, 1.25],
  [KV_COMPUTED, 70],
  [PREEMPTIONS, 2],
  [PROMPT, 100],
  [GENERATED, 5],
  ['vllm:request_max_num_generation_tokens', 5],
  ['vllm:request_params_n', 1],
  ['vllm:request_params_max_tokens', 64],
];

describe('the end of an engine request', () => {
  describe.each<[FinishReason, number]>([
    ['stop', 0],
    ['length', 1],
    ['abort', 2],
    ['error', 3],
    ['repetition', 4],
  ])('by %s', (reason, code) => {
    it('takes one sample of every quantity when the engine says so', async () => {
      const last: Step = { at: 61, received: 1012, more: { finish_reason: code } };
      const { reading, ended } = await live([...WHOLE_LIFE, last], { maxTokens: 64 });
      expect(ended).toBe(true);
      expect(WHOLE_LIFE_QUANTITIES.map(([name]) => [name, ...sample(reading, name)])).toEqual(
        WHOLE_LIFE_QUANTITIES.map(([name, value]) => [name, 1, value]),
      );
      expect(endings(reading)).toEqual({ [reason]: 1 });
    });

    it('takes the same samples when the application says so', async () => {
      const { engine, read } = startService();
      const request = engine.startRequest({ maxTokens: 64, promptTokens: 100 });
      request.recordEvent('queued', 50);
      request.recordEvent('scheduled', 52);
      request.recordPreemption(52.5);
      request.recordEvent('scheduled', 53);
      request.recordTokens(1, { timestamp: 55, receivedAt: 1004, prefill: PREFILL_STATS });
      request.recordEvent('preempted', 56);
      request.recordTokens(2, { timestamp: 58, receivedAt: 1008 });
      request.recordTokens(2, { timestamp: 60, receivedAt: 1010 });
      expect(request.end(reason, { receivedAt: 1012 })).toBe(true);
      const reading = await read();
      expect(WHOLE_LIFE_QUANTITIES.map(([name]) => [name, ...sample(reading, name)])).toEqual(
        WHOLE_LIFE_QUANTITIES.map(([name, value]) => [name, 1, value]),
      );
      expect(endings(reading)).toEqual({ [reason]: 1 });
    });

    it('takes its samples even from a request that never lived', async () => {
      const { reading } = await live([{ received: 1000, more: { finish_reason: code } }]);
      const names = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST];
      expect(counts(reading, names)).toEqual(all(names, 1));
      for (const name of PER_ENGINE_REQUEST) expect([name, reading.histogram(name).sum]).toEqual([name, 0]);
      expect(endings(reading)).toEqual({ [reason]: 1 });
    });
  });

  it('counts requests that were never preempted with 0, in the first bucket', async () => {
    const { reading } = await live([{ at: 1, tokens: 1, more: { finish_reason: 0 } }]);
    expect(reading.histogram(PREEMPTIONS)).toEqual({ count: 1, sum: 0, buckets: [1, 0, 0, 0, 0, 0, 0, 0] });
  });

  it.each([
    { preemptions: 0, bucket: 0 },
    { preemptions: 1, bucket: 0 },
    { preemptions: 2, bucket: 1 },
    { preemptions: 5, bucket: 4 },
    { preemptions: 6, bucket: 5 },
    { preemptions: 10, bucket: 5 },
    { preemptions: 20, bucket: 6 },
    { preemptions: 21, bucket: 7 },
  ])('puts $preemptions preemptions into bucket $bucket of eight', async ({ preemptions, bucket }) => {
    const events = Array.from({ length: preemptions }, (_, time) => preempted(time));
    const { reading } = await live([{ at: 1, events, more: { finish_reason: 0 } }]);
    const buckets = Array.from({ length: 8 }, (_, position) => (position === bucket ? 1 : 0));
    expect(reading.histogram(PREEMPTIONS)).toEqual({ count: 1, sum: preemptions, buckets });
  });

  it.each<{ case: string; steps: Step[]; expected: [string, number][] }>([
    {
      case: 'never queued',
      steps: [{ at: 10, tokens: 1, events: [scheduled(5)], more: { finish_reason: 0 } }],
      expected: [
        [QUEUE, 0],
        [PREFILL, 5],
      ],
    },
    {
      case: 'never scheduled',
      steps: [{ at: 10, tokens: 1, events: [queued(5)], more: { finish_reason: 0 } }],
      expected: [
        [QUEUE, 0],
        [PREFILL, 0],
        [INFERENCE, 0],
      ],
    },
    {
      case: 'scheduled, yet without a token',
      steps: [{ at: 10, events: [queued(5), scheduled(7)], more: { finish_reason: 2 } }],
      expected: [
        [QUEUE, 2],
        [PREFILL, 0],
        [DECODE, 0],
        [INFERENCE, 0],
        [PER_TOKEN, 0],
      ],
    },
    {
      case: 'scheduled before it was queued',
      steps: [{ at: 10, events: [scheduled(7), queued(9)], more: { finish_reason: 0 } }],
      expected: [[QUEUE, 0]],
    },
    {
      case: 'of one token',
      steps: [{ at: 10, tokens: 1, events: [scheduled(7)], more: { finish_reason: 0 } }],
      expected: [
        [DECODE, 0],
        [INFERENCE, 3],
        [PER_TOKEN, 0],
      ],
    },
    {
      case: 'of several tokens in one output',
      steps: [{ at: 10, tokens: 8, events: [scheduled(7)], more: { finish_reason: 0 } }],
      expected: [
        [DECODE, 0],
        [PER_TOKEN, 0],
      ],
    },
    {
      case: 'whose engine clock starts at 0',
      steps: [
        { at: 2, tokens: 1, events: [queued(0), scheduled(1)] },
        { at: 4, tokens: 1, more: { finish_reason: 0 } },
      ],
      expected: [
        [QUEUE, 1],
        [PREFILL, 1],
        [INFERENCE, 3],
      ],
    },
    {
      case: 'whose engine clock ran backwards',
      steps: [
        { at: 10, tokens: 1, events: [scheduled(12)] },
        { at: 6, tokens: 1, more: { finish_reason: 0 } },
      ],
      expected: [
        [PREFILL, 0],
        [ITL, 0],
        [DECODE, 0],
        [INFERENCE, 0],
      ],
    },
    {
      case: 'received before it arrived',
      steps: [{ at: 10, tokens: 1, received: 990, more: { finish_reason: 0 } }],
      expected: [
        [TTFT, 0],
        [E2E, 0],
      ],
    },
    ...[undefined, Number.NaN, -1, Infinity, -Infinity].map((bad) => ({
      case: `whose outputs are stamped ${String(bad)}`,
      steps: [
        { at: bad, tokens: 1, events: [queued(5), scheduled(7)] },
        { at: bad, tokens: 1, more: { finish_reason: 0 } },
      ],
      expected: [
        [QUEUE, 2],
        [PREFILL, 0],
        [ITL, 0],
        [DECODE, 0],
        [INFERENCE, 0],
        [PER_TOKEN, 0],
      ] as [string, number][],
    })),
    ...[Number.NaN, -1, Infinity, undefined].map((bad) => ({
      case: `whose events are stamped ${String(bad)}`,
      steps: [
        { at: 8, tokens: 1, events: [queued(bad!), scheduled(bad!), preempted(bad!)] },
        { at: 9, tokens: 1, more: { finish_reason: 0 } },
      ],
      expected: [
        [QUEUE, 0],
        [PREFILL, 0],
        [DECODE, 1],
        [INFERENCE, 0],
        [PREEMPTIONS, 1],
      ] as [string, number][],
    })),
    {
      case: 'one of whose outputs has no time: the interval to the next with one spans it',
      steps: [
        { at: 10, tokens: 1 },
        { at: undefined, tokens: 1 },
        { at: 14, tokens: 1, more: { finish_reason: 0 } },
      ],
      expected: [
        [ITL, 4],
        [DECODE, 4],
        [PER_TOKEN, 2],
      ],
    },
  ])('records an interval of 0, and every sample, for a request $case', async ({ steps, expected }) => {
    const { reading } = await live(steps);
    expect(expected.map(([name]) => [name, reading.histogram(name).sum])).toEqual(expected);
    const names = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST];
    expect(counts(reading, names)).toEqual(all(names, 1));
  });

  it('keeps the two clocks apart: e2e and TTFT by the wall clock, the rest by the engine', async () => {
    const { reading } = await live([
      { at: 1_000_002, received: 1003, tokens: 1, events: [queued(999_998), scheduled(1_000_000)] },
      { at: 1_000_006, received: 1009, tokens: 1, more: { finish_reason: 0 } },
    ]);
    expect(
      [TTFT, E2E, QUEUE, PREFILL, DECODE, INFERENCE, ITL].map((name) => reading.histogram(name).sum),
    ).toEqual([3, 9, 2, 2, 4, 6, 4]);
  });
});

describe('where the frontends disagree', () => {
  it('a client that aborts is recorded with reason abort', async () => {
    const { engine, read } = startService();
    const controller = new AbortController();
    engine.startRequest({ signal: controller.signal });
    controller.abort();
    const reading = await read();
    expect(endings(reading)).toEqual({ abort: 1 });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 1));
  });

  it('an output without tokens neither ends the prefill nor records TTFT or ITL', async () => {
    const { reading } = await live([
      { at: 10, received: 1001, more: { prefill_stats: PREFILL_STATS } },
      { at: 12, received: 1003, tokens: 1 },
      { at: 13, received: 1004 },
      { at: 16, received: 1005, tokens: 1 },
    ]);
    expect(sample(reading, TTFT)).toEqual([1, 3]);
    expect(sample(reading, ITL)).toEqual([1, 4]);
  });

  it('cached tokens at the end are those of the first prefill statistics', async () => {
    const { reading } = await live([
      { at: 1, tokens: 1, more: { prefill_stats: PREFILL_STATS } },
      {
        at: 2,
        tokens: 1,
        events: [preempted(1)],
        more: { prefill_stats: { ...PREFILL_STATS, num_cached_tokens: 96 }, finish_reason: 0 },
      },
    ]);
    expect(sample(reading, KV_COMPUTED)).toEqual([1, 70]);
  });

  it.each([
    ['more cached tokens than prompt tokens', 130, 0],
    ['the sentinel for "not set"', -1, 100],
    ['none', 0, 100],
  ])('prefill KV computed is never negative: %s', async (_, cached, computed) => {
    const { reading } = await live(
      [
        {
          at: 1,
          tokens: 1,
          more: { prefill_stats: { ...PREFILL_STATS, num_cached_tokens: cached }, finish_reason: 0 },
        },
      ],
      { promptTokens: 100 },
    );
    expect(sample(reading, KV_COMPUTED)).toEqual([1, computed]);
  });

  it.each([
    ['absent', undefined],
    ['0', 0],
  ])('max_tokens that is %s is not recorded', async (_, maxTokens) => {
    const { reading } = await live([{ at: 1, tokens: 1, more: { finish_reason: 0 } }], { maxTokens });
    expect(sample(reading, 'vllm:request_params_max_tokens')).toEqual([0, 0]);
  });

  it('the prompt length given at the start stands against what the engine says', async () => {
    const first: Step = { at: 1, tokens: 1, more: { prefill_stats: PREFILL_STATS, finish_reason: 0 } };
    expect(sample((await live([first], { promptTokens: 90 })).reading, PROMPT)).toEqual([1, 90]);
    expect(sample((await live([first])).reading, PROMPT)).toEqual([1, 100]);
  });
});

describe('prefill statistics that cannot be right', () => {
  it.each([
    [Number.NaN, 1],
    [-2, 1],
    [Infinity, 1],
    ['70', 1],
    [null, 1],
    [-1, 0],
    [undefined, 0],
  ])('count as 0 tokens: %s', async (bad, drops) => {
    const { vllm, engine, read, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    const prefill_stats = { ...PREFILL_STATS, num_local_cached_tokens: bad as number };
    vllm.observe(message(1, output('r', 1, { prefill_stats })));
    request.end();
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens_by_source', { source: 'local_cache_hit' })).toBe(0);
    expect(reading.value('vllm:prompt_tokens')).toBe(100);
    expect(dropped()).toEqual(drops === 0 ? {} : { invalidValue: drops });
  });

  it('are counted once each', async () => {
    const { vllm, engine, read, dropped } = startService();
    const request = engine.startRequest({ requestId: 'r' });
    const prefill_stats = { ...PREFILL_STATS, num_cached_tokens: -5, num_prompt_tokens: Number.NaN };
    vllm.observe(message(1, output('r', 1, { prefill_stats })));
    request.end();
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(0);
    expect(reading.value('vllm:prompt_tokens_cached')).toBe(0);
    expect(sample(reading, PROMPT)).toEqual([1, 0]);
    expect(dropped()).toEqual({ invalidValue: 2 });
  });

  it.each([[7], ['many'], [[]], [true]])('that are no object say nothing: %j', async (bad) => {
    const { vllm, engine, read } = startService();
    engine.startRequest({ requestId: 'r' });
    vllm.observe(message(1, output('r', 1, { prefill_stats: bad as object, finish_reason: 0 })));
    const reading = await read();
    expect(reading.value('vllm:prompt_tokens')).toBe(0);
    expect(sample(reading, TTFT)[0]).toBe(1);
    expect(endings(reading)).toEqual({ stop: 1 });
  });
});
