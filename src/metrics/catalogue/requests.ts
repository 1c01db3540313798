import { REQUEST_SECONDS_BOUNDARIES, TOKEN_BOUNDARIES, TOKEN_GAP_SECONDS_BOUNDARIES } from '../boundaries.ts';
import { BASE_LABELS, type CounterMetric, type HistogramMetric } from '../metric.ts';

function tokensPerRequest(name: HistogramMetric['name'], description: string): HistogramMetric {
  return {
    name,
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'tokens',
    boundaries: TOKEN_BOUNDARIES,
    cappedByMaxModelLen: true,
    description,
  };
}

function secondsPerRequest(name: HistogramMetric['name'], description: string): HistogramMetric {
  return {
    name,
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'seconds',
    boundaries: REQUEST_SECONDS_BOUNDARIES,
    description,
  };
}

/** What is recorded once for each ended request. */
export const requestMetrics: readonly (CounterMetric | HistogramMetric)[] = [
  {
    name: 'vllm:request_num_preemptions',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'preemptions',
    boundaries: [1, 2, 3, 4, 5, 10, 20],
    description:
      'How often each ended request was preempted. Requests that never were count with 0, in the first bucket.',
  },
  {
    name: 'vllm:request_success',
    kind: 'counter',
    labels: [...BASE_LABELS, 'finished_reason'],
    labelValues: { finished_reason: ['stop', 'length', 'abort', 'error', 'repetition'] },
    unit: 'requests',
    description: 'Ended requests by reason, the aborted and failed ones among them.',
  },
  {
    name: 'vllm:corrupted_requests',
    kind: 'counter',
    labels: BASE_LABELS,
    unit: 'requests',
    description: 'Ended requests for which some step produced NaN in the logits.',
  },
  tokensPerRequest('vllm:request_prompt_tokens', 'Prompt length of each ended request.'),
  tokensPerRequest('vllm:request_generation_tokens', 'Tokens generated for each ended request.'),
  tokensPerRequest(
    'vllm:request_max_num_generation_tokens',
    'Tokens in the longest output among the choices of one user request, taken when its last choice ends.',
  ),
  tokensPerRequest(
    'vllm:request_params_max_tokens',
    'The max_tokens parameter of ended requests that set it.',
  ),
  tokensPerRequest(
    'vllm:request_prefill_kv_computed_tokens',
    'Prompt tokens of each ended request whose KV was computed rather than taken from a cache.',
  ),
  {
    name: 'vllm:request_params_n',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'choices',
    boundaries: [1, 2, 5, 10, 20],
    description: 'The n parameter (choices asked for), once per user request.',
  },
  secondsPerRequest(
    'vllm:e2e_request_latency_seconds',
    'From arrival to the end of each request, wall clock.',
  ),
  secondsPerRequest(
    'vllm:request_queue_time_seconds',
    'From being queued to first being scheduled, engine clock; 0 for requests never scheduled.',
  ),
  secondsPerRequest(
    'vllm:request_inference_time_seconds',
    'From first being scheduled to the last token, engine clock, pauses by preemption included.',
  ),
  secondsPerRequest(
    'vllm:request_prefill_time_seconds',
    'From first being scheduled to the first token, engine clock.',
  ),
  secondsPerRequest(
    'vllm:request_decode_time_seconds',
    'From the first token to the last, engine clock, pauses by preemption included.',
  ),
  {
    name: 'vllm:request_time_per_output_token_seconds',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'seconds per token',
    boundaries: TOKEN_GAP_SECONDS_BOUNDARIES,
    description:
      'Mean time per token after the first of each ended request, engine clock; 0 where there was at most one.',
  },
];
