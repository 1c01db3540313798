import { KV_BLOCK_SECONDS_BOUNDARIES } from '../boundaries.ts';
import { BASE_LABELS, perEngineCounter as counter, type HistogramMetric, type Metric } from '../metric.ts';

function kvBlockSeconds(name: Metric['name'], description: string): HistogramMetric {
  return {
    name,
    kind: 'histogram',
    labels: BASE_LABELS,
    unit: 'seconds',
    boundaries: KV_BLOCK_SECONDS_BOUNDARIES,
    description,
  };
}

/** What the scheduler of an engine reports about itself. */
export const schedulerMetrics: readonly Metric[] = [
  {
    name: 'vllm:num_requests_running',
    kind: 'gauge',
    labels: BASE_LABELS,
    unit: 'requests',
    description: 'Requests in the running set of the scheduler.',
  },
  {
    name: 'vllm:num_requests_waiting',
    kind: 'gauge',
    labels: BASE_LABELS,
    unit: 'requests',
    description: 'Requests that do not run yet, deferred ones included.',
  },
  {
    name: 'vllm:num_requests_waiting_by_reason',
    kind: 'gauge',
    labels: [...BASE_LABELS, 'reason'],
    labelValues: { reason: ['capacity', 'deferred'] },
    unit: 'requests',
    description: 'Waiting requests by what they wait for: room in the engine, or a passing constraint.',
  },
  {
    name: 'vllm:num_requests_kv_fetch_by_stage',
    kind: 'gauge',
    labels: [...BASE_LABELS, 'stage'],
    labelValues: { stage: ['waiting_to_start', 'in_progress', 'completed_waiting'] },
    unit: 'requests',
    description: 'Waiting requests whose KV is being fetched from another engine, by how far that has come.',
  },
  {
    name: 'vllm:kv_cache_usage_perc',
    kind: 'gauge',
    labels: BASE_LABELS,
    unit: 'ratio',
    description: 'Share of the KV cache blocks in use, from 0 to 1, where 1 is full.',
  },
  counter(
    'vllm:num_preemptions',
    'preemptions',
    'Times the scheduler took a running request off and queued it again.',
  ),
  counter(
    'vllm:prefix_cache_queries',
    'tokens',
    "Prompt tokens for which the engine's own prefix cache was asked.",
  ),
  counter('vllm:prefix_cache_hits', 'tokens', "Prompt tokens that the engine's own prefix cache had."),
  counter(
    'vllm:external_prefix_cache_queries',
    'tokens',
    'Tokens looked up in a cache shared between engines.',
  ),
  counter(
    'vllm:external_prefix_cache_hits',
    'tokens',
    'Tokens that a cache shared between engines could supply.',
  ),
  {
    name: 'vllm:prompt_tokens_cached_by_source',
    kind: 'counter',
    labels: [...BASE_LABELS, 'source'],
    labelValues: { source: ['device', 'host', 'p2p', 'disk', 'external_unspecified'] },
    unit: 'tokens',
    description:
      'Cached prompt tokens by the tier that held them, counted when the scheduler admits a request.',
  },
  counter('vllm:mm_cache_queries', 'items', "Media items looked up in the frontend's multimodal cache."),
  counter('vllm:mm_cache_hits', 'items', "Media items found in the frontend's multimodal cache."),
  {
    name: 'vllm:engine_sleep_state',
    kind: 'gauge',
    labels: [...BASE_LABELS, 'sleep_state'],
    labelValues: { sleep_state: ['awake', 'weights_offloaded', 'discard_all'] },
    unit: 'flag',
    description: '1 for the state the engine is in: awake, or one of the two sleep levels.',
  },
  {
    name: 'vllm:cache_config_info',
    kind: 'info',
    labels: ['engine'],
    openLabels: "every field of the engine's cache configuration, as text",
    freeLabelValues: true,
    unit: 'constant 1',
    description: 'The cache configuration of the engine, in labels.',
  },
  {
    name: 'vllm:lora_requests_info',
    kind: 'gauge',
    labels: ['max_lora', 'waiting_lora_adapters', 'running_lora_adapters'],
    freeLabelValues: true,
    unit: 'unix seconds',
    description:
      'Which LoRA adapters have waiting or running requests; the value is the time of the last change.',
  },
  kvBlockSeconds(
    'vllm:kv_block_lifetime_seconds',
    'How long sampled KV blocks lived until they were evicted.',
  ),
  kvBlockSeconds(
    'vllm:kv_block_idle_before_evict_seconds',
    'How long sampled KV blocks had not been used when they were evicted.',
  ),
  kvBlockSeconds('vllm:kv_block_reuse_gap_seconds', 'Time between successive uses of sampled KV blocks.'),
  counter('vllm:spec_decode_num_drafts', 'drafts', 'Drafts that were verified in speculative decoding.'),
  counter('vllm:spec_decode_num_draft_tokens', 'tokens', 'Tokens that the drafter proposed.'),
  counter('vllm:spec_decode_num_accepted_tokens', 'tokens', 'Proposed tokens that were accepted.'),
  {
    name: 'vllm:spec_decode_num_accepted_tokens_per_pos',
    kind: 'counter',
    labels: [...BASE_LABELS, 'position'],
    unit: 'tokens',
    description: 'Accepted tokens by their position in the draft, counted from 0.',
  },
  counter(
    'vllm:estimated_flops_per_gpu',
    'FLOP',
    'Floating-point operations per GPU, as estimated by the engine.',
  ),
  counter('vllm:estimated_read_bytes_per_gpu', 'bytes', 'Bytes read from memory per GPU, as estimated.'),
  counter('vllm:estimated_write_bytes_per_gpu', 'bytes', 'Bytes written to memory per GPU, as estimated.'),
  counter(
    'vllm:diffusion_num_denoising_steps',
    'steps',
    'Steps that a diffusion language model took to denoise.',
  ),
  counter(
    'vllm:diffusion_num_canvas_positions',
    'positions',
    'Canvas positions that a diffusion language model evaluated.',
  ),
  counter(
    'vllm:diffusion_num_committed_tokens',
    'tokens',
    'Tokens that a diffusion language model made final.',
  ),
];
