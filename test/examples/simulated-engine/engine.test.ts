import { describe, expect, it } from 'vitest';
import { SimulatedEngine } from '../../../examples/simulated-engine/engine.ts';
import type { RequestSpec } from '../../../examples/simulated-engine/engine-request.ts';
import { contentOf } from '../../../examples/simulated-engine/token-sequence.ts';

const COST = { perStep: 1, perPrefillToken: 0, perDecode: 0, perContextToken: 0 };

const request = (id: string, promptTokens: number, outputTokens: number): RequestSpec => ({
  id,
  prompt: [{ content: contentOf(id), tokens: promptTokens }],
  outputTokens,
});

describe('SimulatedEngine', () => {
  it('sends what an engine sends after a step', () => {
    const engine = new SimulatedEngine({ index: 3, kvBlocks: 8, cost: COST, clockOffset: 500 });
    engine.submit(request('a', 20, 1));
    engine.submit(request('b', 2, 2));
    expect(engine.step(10)).toEqual({
      endsAt: 11,
      message: {
        engine_index: 3,
        outputs: [
          {
            request_id: 'a',
            new_token_ids: [32_070],
            finish_reason: 0,
            events: [
              { type: 1, timestamp: 510 },
              { type: 2, timestamp: 510 },
            ],
            prefill_stats: {
              num_prompt_tokens: 20,
              num_computed_tokens: 20,
              num_cached_tokens: 0,
              num_local_cached_tokens: 0,
              num_external_cached_tokens: 0,
            },
          },
          expect.objectContaining({ request_id: 'b', finish_reason: null }),
        ],
        scheduler_stats: {
          num_running_reqs: 1,
          num_waiting_reqs: 0,
          num_skipped_waiting_reqs: 0,
          step_counter: 1,
          kv_cache_usage: 0.125,
          prefix_cache_stats: {
            reset: false,
            requests: 2,
            queries: 22,
            hits: 0,
            preempted_requests: 0,
            preempted_queries: 0,
            preempted_hits: 0,
          },
        },
        timestamp: 511,
        finished_requests: ['a'],
      },
    });
    expect(engine.step(11)?.message).toMatchObject({ timestamp: 512, finished_requests: ['b'] });
    expect(engine.step(12)).toBeUndefined();
  });

  it('sends statistics with an empty batch while a prompt is computed in chunks', () => {
    const engine = new SimulatedEngine({ kvBlocks: 10, maxNumBatchedTokens: 16, cost: COST });
    engine.submit(request('a', 20, 2));
    expect(engine.step(0)?.message).toMatchObject({
      outputs: [],
      scheduler_stats: { num_running_reqs: 1 },
      finished_requests: null,
    });
  });

  it('looks at what has arrived only when a step begins', () => {
    const engine = new SimulatedEngine({ kvBlocks: 10, cost: COST });
    const progress = engine.submit(request('a', 2, 9));
    engine.step(0);
    engine.submit(request('b', 2, 9));
    expect(engine.load).toEqual({ waiting: 1, running: 1 });
    expect(progress).toEqual({
      queuedAt: 0,
      scheduledAt: 0,
      cachedTokens: 0,
      firstTokenAt: 1,
      lastTokenAt: 1,
      generatedTokens: 1,
      preemptions: 0,
    });
    expect(engine.step(1)?.message.outputs?.[1]?.events?.[0]).toEqual({ type: 1, timestamp: 1 });
    expect(engine.load).toEqual({ waiting: 0, running: 2 });
  });

  it('sends no output for an aborted request, but its id, though nothing else is left to do', () => {
    const engine = new SimulatedEngine({ kvBlocks: 10, cost: COST });
    engine.submit(request('a', 2, 9));
    engine.step(0);
    engine.abort('a');
    expect(engine.step(1)?.message).toMatchObject({
      outputs: [],
      scheduler_stats: { num_running_reqs: 0, num_waiting_reqs: 0, kv_cache_usage: 0 },
      finished_requests: ['a'],
    });
    expect(engine.step(2)).toBeUndefined();
  });

  it('ends a request that outgrows the cache with reason length', () => {
    const engine = new SimulatedEngine({ kvBlocks: 2, cost: COST });
    engine.submit(request('a', 30, 1000));
    expect(engine.step(0)?.message.outputs).toMatchObject([{ finish_reason: null }]);
    expect(engine.step(1)?.message.outputs).toMatchObject([{ finish_reason: 1 }]);
  });

  it('turns a prompt away that leaves no room for an answer', () => {
    const engine = new SimulatedEngine({ kvBlocks: 2 });
    expect([0, 1, 31, 32].map((tokens) => engine.accepts(tokens))).toEqual([false, true, true, false]);
    expect(() => engine.submit(request('a', 32, 1))).toThrow(
      new RangeError('a prompt of 32 tokens does not fit into a model length of 32'),
    );
  });

  it.each([
    [{ kvBlocks: 0 }, 'kvBlocks must be a positive integer, got 0'],
    [{ kvBlocks: 1.5 }, 'kvBlocks must be a positive integer, got 1.5'],
    [{ kvBlocks: 10, blockSize: -1 }, 'blockSize must be a positive integer, got -1'],
    [{ kvBlocks: 10, maxNumSeqs: NaN }, 'maxNumSeqs must be a positive integer, got NaN'],
    [{ kvBlocks: 10, maxNumBatchedTokens: 0 }, 'maxNumBatchedTokens must be a positive integer, got 0'],
    [
      { kvBlocks: 10, maxModelLen: 161 },
      'maxModelLen must be at most the 160 tokens that the KV cache holds, got 161',
    ],
  ])('refuses %o', (options, message) => {
    expect(() => new SimulatedEngine(options)).toThrow(new TypeError(message));
  });
});
