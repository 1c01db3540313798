import type { FinishReason } from '../../src/index.ts';
import { noteAdapters } from './lora-rule.ts';
import type { Model, ModelEngine, ModelRequest } from './model.ts';
import { promptOf } from './prefill-rules.ts';
import { add, observe } from './series.ts';

/** Exactly one sample of everything, whatever the reason. */
export function endRequest(
  model: Model,
  engine: ModelEngine,
  request: ModelRequest,
  reason: FinishReason,
  receivedAt: number,
): void {
  engine.live.delete(request);
  if (request.reachable) engine.ended.add(request.id);
  const { series } = model;
  const { labels } = engine;
  const sample = (name: string, value: number): void => observe(series, name, labels, value);
  add(series, 'vllm:request_success', { ...labels, finished_reason: reason }, 1);
  if (request.corrupted) add(series, 'vllm:corrupted_requests', labels, 1);

  const prompt = promptOf(request);
  const decode = interval(request.firstToken, request.lastToken);
  sample('vllm:request_num_preemptions', request.preemptions);
  sample('vllm:request_prompt_tokens', prompt);
  sample('vllm:request_generation_tokens', request.generated);
  sample('vllm:request_prefill_kv_computed_tokens', Math.max(prompt - (request.prefill?.cached ?? 0), 0));
  sample('vllm:request_queue_time_seconds', interval(request.queued, request.scheduled));
  sample('vllm:request_prefill_time_seconds', interval(request.scheduled, request.firstToken));
  sample('vllm:request_decode_time_seconds', decode);
  sample('vllm:request_inference_time_seconds', interval(request.scheduled, request.lastToken));
  sample(
    'vllm:request_time_per_output_token_seconds',
    request.generated > 1 ? decode / (request.generated - 1) : 0,
  );
  if (request.arrival !== undefined) {
    sample('vllm:e2e_request_latency_seconds', interval(request.arrival, receivedAt));
  }
  if (request.maxTokens !== undefined) sample('vllm:request_params_max_tokens', request.maxTokens);
  endChoice(model, engine, request);
  noteAdapters(model);
}

/** What a user asked for is recorded once, when the last choice has ended. */
function endChoice(model: Model, { labels }: ModelEngine, { user, generated }: ModelRequest): void {
  user.open -= 1;
  user.longest = Math.max(user.longest, generated);
  if (user.open > 0) return;
  observe(model.series, 'vllm:request_params_n', labels, user.n);
  observe(model.series, 'vllm:request_max_num_generation_tokens', labels, user.longest);
}

/** An interval whose ends are not both set, or that would be negative or not finite, is 0. */
export function interval(start: number | undefined, end: number | undefined): number {
  const seconds = (end ?? Number.NaN) - (start ?? Number.NaN);
  return seconds > 0 && seconds < Infinity ? seconds : 0;
}
