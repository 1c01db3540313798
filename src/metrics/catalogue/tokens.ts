import { FIRST_TOKEN_SECONDS_BOUNDARIES, TOKEN_GAP_SECONDS_BOUNDARIES } from '../boundaries.ts';
import { BASE_LABELS, type CounterMetric, type HistogramMetric } from '../metric.ts';

/** What moves while requests run: tokens, and the time between them. */
export const tokenMetrics: readonly (CounterMetric | HistogramMetric)[] = [
  {
    name: 'vllm:prompt_tokens',
    kind: 'counter',
    labels: BASE_LABELS,
    unit: 'tokens',
    description: 'Prompt tokens of requests that produced their first token, cached tokens included.',
  },
  {
    name: 'vllm:prompt_tokens_by_source',
    kind: 'counter',
    labels: [...BASE_LABELS, 'source'],
    labelValues: { source: ['local_compute', 'local_cache_hit', 'external_kv_transfer'] },
    unit: 'tokens',
    description: 'Prompt tokens by where their KV came from; the sources add up to the prompt tokens.',
  },
  {
    name: 'vllm:prompt_tokens_cached',
    kind: 'counter',
    labels: BASE_LABELS,
    unit: 'tokens',
    description: 'Prompt tokens that needed no computation, local and external hits together.',
  },
  {
    name: 'vllm:generation_tokens',
    kind: 'counter',
    labels: BASE_LABELS,
    unit: 'tokens',
    description: "Generated tokens, each request's first token included.",
  },
  {
    name: 'vllm:iteration_tokens_total',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'tokens',
    boundaries: [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
    description: 'Tokens in each output batch of the engine: computed prompt tokens and generated ones.',
  },
  {
    name: 'vllm:time_to_first_token_seconds',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'seconds',
    boundaries: FIRST_TOKEN_SECONDS_BOUNDARIES,
    description: 'From arrival to receipt of the first token, wall clock.',
  },
  {
    name: 'vllm:inter_token_latency_seconds',
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'seconds',
    boundaries: TOKEN_GAP_SECONDS_BOUNDARIES,
    description:
      'Between successive outputs of a request, engine clock; one sample per output, not per token.',
  },
];
