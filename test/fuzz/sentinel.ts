import assert from 'node:assert/strict';
import type { Attributes } from '@opentelemetry/api';
import type { EngineCoreOutput } from '../../src/engine/messages.ts';
import type { VllmInstrumentation } from '../../src/instrumentation.ts';
import type { VllmRequest } from '../../src/request/vllm-request.ts';
import { output, preempted, queued, scheduled } from '../support/messages.ts';

/** A healthy request in bad company: whatever stands beside its outputs, it ends with exactly what those say. */
export class Sentinel {
  readonly id: string;
  readonly #request: VllmRequest;

  /** Starts the request. */
  constructor(vllm: VllmInstrumentation, engine: number, id: string) {
    this.id = id;
    this.#request = vllm.engine(engine).startRequest({ requestId: id });
  }

  /** All of its outputs, one before and one behind what else there is in the message. */
  around(others: readonly EngineCoreOutput[]): readonly EngineCoreOutput[] {
    return [
      output(this.id, 1, { events: [queued(1), scheduled(1.5)], prefill_stats: PREFILL }),
      ...others,
      output(this.id, 2, { events: [preempted(2)], finish_reason: 1 }),
    ];
  }

  /**
   * To be called when its outputs have been observed.
   *
   * @param spans - The spans that ended, its own among them.
   * @throws AssertionError where the request lost anything.
   */
  check(spans: readonly { readonly attributes: Attributes }[]): void {
    assert(this.#request.ended, `the healthy request ${this.id} has not ended`);
    const span = spans.find(({ attributes }) => attributes['gen_ai.request.id'] === this.id);
    for (const [name, value] of Object.entries(SPAN)) assert.deepEqual(span?.attributes[name], value, name);
  }
}

const PREFILL = {
  num_prompt_tokens: 10,
  num_computed_tokens: 4,
  num_cached_tokens: 6,
  num_local_cached_tokens: 6,
};

/** What does not depend on the time of the message, which may be the one thing that is wrong. */
const SPAN: Attributes = {
  'gen_ai.usage.prompt_tokens': 10,
  'gen_ai.usage.completion_tokens': 3,
  'vllm.request.num_preemptions': 1,
  'gen_ai.response.finish_reasons': ['length'],
  'gen_ai.latency.time_in_queue': 0.5,
};
