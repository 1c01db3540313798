import type { Reading } from './reading.ts';

/** The histograms that take one sample of every ended engine request. */
export const PER_ENGINE_REQUEST: readonly string[] = [
  'vllm:request_num_preemptions',
  'vllm:request_prompt_tokens',
  'vllm:request_generation_tokens',
  'vllm:request_prefill_kv_computed_tokens',
  'vllm:e2e_request_latency_seconds',
  'vllm:request_queue_time_seconds',
  'vllm:request_prefill_time_seconds',
  'vllm:request_decode_time_seconds',
  'vllm:request_inference_time_seconds',
  'vllm:request_time_per_output_token_seconds',
];

/** The histograms that take one sample of every ended user request, however many choices it has. */
export const PER_USER_REQUEST: readonly string[] = [
  'vllm:request_params_n',
  'vllm:request_max_num_generation_tokens',
];

/** How many samples each of the given histograms of an engine has, by name. */
export function counts(
  reading: Reading,
  names: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, reading.histogram(name, labels).count]));
}

/** The same number for every name. */
export function all(names: readonly string[], count: number): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, count]));
}

/** Ended requests by reason, reasons that never occurred left out. */
export function endings(
  reading: Reading,
  labels: Readonly<Record<string, string>> = {},
): Record<string, number> {
  const entries = ['stop', 'length', 'abort', 'error', 'repetition'].map((reason): [string, number] => [
    reason,
    reading.value('vllm:request_success', { ...labels, finished_reason: reason }),
  ]);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}
