import type { Span } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineCoreOutputs, SchedulerStats } from '../../src/engine/messages.ts';
import type { FinishReason } from '../../src/request/finish-reason.ts';
import { recordPreemption } from '../../src/request/request-context.ts';
import type { RequestEvent } from '../../src/request/request-event.ts';
import type {
  AdoptOptions,
  EndOptions,
  RecordTokensOptions,
  StartRequestOptions,
} from '../../src/request/request-options.ts';
import type { VllmRequest } from '../../src/request/vllm-request.ts';
import { all, counts, endings, PER_ENGINE_REQUEST, PER_USER_REQUEST } from '../support/per-request.ts';
import { startService, type Service } from '../support/service.ts';

/** Whatever a program without types can hand over. */
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  maxDepth: 2,
});

function orAnything<T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: right, weight: 3 }, { arbitrary: anything, weight: 1 });
}

const time = orAnything(fc.double({ min: 0, max: 1e6, noNaN: true }));
const tokens = orAnything(fc.nat(100_000));
const reason = orAnything(fc.constantFrom('stop', 'length', 'abort', 'error', 'repetition'));
const requestId = orAnything(fc.constantFrom('a', 'b', 'c', '0_a', '1_a', '0_b'));
const which = fc.nat(5);

const options = orAnything(
  fc.record(
    {
      requestId,
      promptTokens: tokens,
      maxTokens: tokens,
      n: orAnything(fc.integer({ min: 1, max: 3 })),
      loraName: orAnything(fc.string()),
      arrivalTime: time,
      signal: orAnything(fc.constantFrom(AbortSignal.abort(), new AbortController().signal)),
      temperature: anything,
      topP: anything,
      attributes: anything,
      traceHeaders: orAnything(fc.dictionary(fc.constantFrom('traceparent', 'tracestate', 'x'), anything)),
    },
    { requiredKeys: [] },
  ),
);

const prefill = orAnything(
  fc.record(
    { num_prompt_tokens: tokens, num_computed_tokens: tokens, num_cached_tokens: tokens },
    { requiredKeys: [] },
  ),
);

const engineMessage = orAnything(
  fc.record(
    {
      engine_index: orAnything(fc.constant(0)),
      timestamp: time,
      outputs: orAnything(
        fc.array(
          orAnything(
            fc.record(
              {
                request_id: requestId,
                new_token_ids: orAnything(fc.record({ length: tokens })),
                events: orAnything(
                  fc.array(
                    orAnything(
                      fc.record({ type: orAnything(fc.integer({ min: 0, max: 4 })), timestamp: time }),
                    ),
                  ),
                ),
                prefill_stats: prefill,
                finish_reason: orAnything(fc.option(fc.nat(5))),
              },
              { requiredKeys: [] },
            ),
          ),
          { maxLength: 4 },
        ),
      ),
      scheduler_stats: orAnything(
        fc.dictionary(
          fc.constantFrom('num_running_reqs', 'num_waiting_reqs', 'kv_cache_usage', 'prefix_cache_stats'),
          anything,
        ),
      ),
      finished_requests: orAnything(fc.array(requestId, { maxLength: 2 })),
    },
    { requiredKeys: [] },
  ),
);

/** One call of a program, to be made on a service and one of its requests. */
type Call = (service: Service, requests: VllmRequest[]) => void;

/** A call on one of the requests, or on one of its choices. */
function onRequest(target: number, act: (request: VllmRequest) => void): Call {
  return (_, requests) => {
    const request = requests[target % Math.max(requests.length, 1)];
    const choice = request?.choices[target % request.choices.length];
    if (target % 2 === 0) {
      if (request !== undefined) act(request);
    } else if (choice !== undefined) act(choice);
  };
}

const call: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(options).map(([given]): Call => ({ engine }, requests) => {
    requests.push(engine.startRequest(given as StartRequestOptions));
  }),
  fc.tuple(options).map(([given]): Call => ({ vllm, traced }, requests) => {
    const span = traced.tracer.startSpan('server');
    requests.push(vllm.adopt(span, withoutEngine(given)));
  }),
  fc.tuple(anything, options).map(([span, given]): Call => ({ vllm }, requests) => {
    requests.push(vllm.adopt(span as Span, withoutEngine(given)));
  }),
  fc
    .tuple(which, orAnything(fc.constantFrom('queued', 'scheduled', 'preempted')), time)
    .map(([target, event, at]) =>
      onRequest(target, (request) => request.recordEvent(event as RequestEvent, at as number)),
    ),
  fc
    .tuple(which, time)
    .map(([target, at]) => onRequest(target, (request) => request.run(() => recordPreemption(at as number)))),
  fc
    .tuple(which, tokens, orAnything(fc.record({ timestamp: time, receivedAt: time, prefill })))
    .map(([target, count, given]) =>
      onRequest(target, (request) => request.recordTokens(count as number, given as RecordTokensOptions)),
    ),
  fc
    .tuple(which, reason, orAnything(fc.record({ receivedAt: time, error: anything })))
    .map(([target, why, given]) =>
      onRequest(target, (request) => request.end(why as FinishReason, given as EndOptions)),
    ),
  fc
    .tuple(which, fc.oneof(fc.constant(undefined), fc.double(), fc.date()))
    .map(([target, at]) => onRequest(target, (request) => request.span?.end(at))),
  fc.tuple(which).map(([target]) => onRequest(target, (request) => request[Symbol.dispose]())),
  fc.tuple(engineMessage, time).map(([message, at]): Call => ({ vllm }) => {
    vllm.observe(message as EngineCoreOutputs, at as number);
  }),
  fc.tuple(anything).map(
    ([stats]): Call =>
      ({ engine }) =>
        engine.recordSchedulerStats(stats as SchedulerStats),
  ),
);

/** A wrong engine index is a mistake of the program, and throws. */
function withoutEngine(given: unknown): AdoptOptions {
  return typeof given === 'object' && given !== null ? { ...given, engine: 0 } : (given as AdoptOptions);
}

describe.each([
  ['sampled', {}],
  ['not sampled', { sampler: new AlwaysOffSampler() }],
])('any calls with any values, on requests that are %s', (_, tracing) => {
  it('throw nothing, and every request gives exactly one sample to every histogram', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 30 }), async (calls) => {
        const service = startService({}, tracing);
        const requests: VllmRequest[] = [];
        for (const act of calls) act(service, requests);
        service.vllm.disable();

        const reading = await service.read();
        // Of a span that was adopted twice, the request is one.
        const started = new Set(requests);
        const engineRequests = [...started].reduce((sum, request) => sum + request.choices.length, 0);
        expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, engineRequests));
        expect(counts(reading, PER_USER_REQUEST)).toEqual(all(PER_USER_REQUEST, started.size));
        const reasons = Object.values(endings(reading));
        expect(reasons.reduce((sum, count) => sum + count, 0)).toBe(engineRequests);
        for (const request of started) expect(request.ended).toBe(true);
        expect(service.vllm.status().requestsInFlight).toBe(0);
        for (const { descriptor, dataPoints } of reading.metrics) {
          for (const { value } of dataPoints) {
            const sum = typeof value === 'number' ? value : value.sum!;
            expect([descriptor.name, Number.isFinite(sum) && sum >= 0]).toEqual([descriptor.name, true]);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
