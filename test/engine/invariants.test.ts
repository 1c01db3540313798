import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineCoreEvent } from '../../src/engine/messages.ts';
import type { VllmRequest } from '../../src/request/vllm-request.ts';
import { output, preempted, queued, scheduled } from '../support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

/** What an engine step holds for one request: one token or none, preemptions before it, an end or none. */
const stepOfRequest = fc.record({
  request: fc.nat(7),
  token: fc.boolean(),
  preemptions: fc.nat(3),
  finish: fc.option(fc.nat(4), { freq: 6 }),
});

const life = fc.array(
  fc.record({
    outputs: fc.array(stepOfRequest, { maxLength: 5 }),
    started: fc.nat(3),
    aborted: fc.option(fc.nat(7), { freq: 8 }),
    computed: fc.nat(500),
    cached: fc.nat(500),
  }),
  { maxLength: 40 },
);

describe('the invariants of an engine that is observed', () => {
  it('hold after any steps, preemptions and aborts', async () => {
    await fc.assert(
      fc.asyncProperty(life, async (steps) => {
        const { vllm, engine, read } = startService();
        let running: VllmRequest[] = [];
        const firstTokens = new Set<VllmRequest>();
        let ended = 0;
        let time = 0;
        for (const { outputs, started, aborted, computed, cached } of steps) {
          time += 1;
          for (let count = 0; count < started && running.length < 8; count += 1) {
            running.push(engine.startRequest());
          }
          const named = new Set<VllmRequest>();
          const batch = outputs.flatMap(({ request, token, preemptions, finish }) => {
            const target = running[request];
            if (target === undefined || named.has(target)) return [];
            named.add(target);
            const events: EngineCoreEvent[] = [queued(time), scheduled(time)];
            for (let count = 0; count < preemptions; count += 1) events.push(preempted(time));
            if (token) firstTokens.add(target);
            return output(target.requestId, token ? 1 : 0, {
              events,
              finish_reason: finish,
              prefill_stats: {
                num_prompt_tokens: computed + cached,
                num_computed_tokens: computed,
                num_cached_tokens: cached,
                num_local_cached_tokens: cached,
              },
            });
          });
          vllm.observe({ timestamp: time, outputs: batch });
          if (aborted !== null) running[aborted]?.end('abort');
          const left = running.filter((request) => !request.ended);
          ended += running.length - left.length;
          running = left;
        }

        const reading = await read();
        const names = [...PER_ENGINE_REQUEST, ...PER_USER_REQUEST];
        expect(counts(reading, names)).toEqual(all(names, ended));
        expect(Object.values(endings(reading)).reduce((sum, count) => sum + count, 0)).toBe(ended);
        expect(reading.value('vllm:num_preemptions')).toBe(
          reading.histogram('vllm:request_num_preemptions').sum +
            running.reduce((sum, request) => sum + request.numPreemptions, 0),
        );
        const timeToFirst = reading.histogram('vllm:time_to_first_token_seconds').count;
        expect(timeToFirst).toBe(firstTokens.size);
        const generated = reading.value('vllm:generation_tokens');
        expect(reading.histogram('vllm:inter_token_latency_seconds').count).toBe(generated - timeToFirst);
        const source = (name: string): number =>
          reading.value('vllm:prompt_tokens_by_source', { source: name });
        expect(reading.histogram('vllm:iteration_tokens_total').sum).toBe(
          source('local_compute') + generated,
        );
        expect(reading.value('vllm:prompt_tokens')).toBe(
          source('local_compute') + source('local_cache_hit') + source('external_kv_transfer'),
        );
        expect(vllm.status().requestsInFlight).toBe(running.length);
      }),
      { numRuns: 60, seed: 20_261_129 },
    );
  });
});
