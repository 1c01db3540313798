import type { Model } from './model.ts';
import { createCounter, createHistogram, type Labels } from './series.ts';

/** Makes what exists at zero as soon as an engine is known. */
export function createEngineSeries({ series, options }: Model, labels: Labels): void {
  for (const name of COUNTERS) createCounter(series, name, labels);
  for (const name of options.isDiffusion ? DIFFUSION_COUNTERS : DRAFT_COUNTERS) {
    createCounter(series, name, labels);
  }
  for (const [name, label, values] of COUNTERS_BY_LABEL) {
    for (const value of values) createCounter(series, name, { ...labels, [label]: value });
  }
  for (const name of HISTOGRAMS) createHistogram(series, name, labels, options.maxModelLen);
}

const COUNTERS = [
  'vllm:num_preemptions',
  'vllm:prefix_cache_queries',
  'vllm:prefix_cache_hits',
  'vllm:external_prefix_cache_queries',
  'vllm:external_prefix_cache_hits',
  'vllm:mm_cache_queries',
  'vllm:mm_cache_hits',
  'vllm:prompt_tokens',
  'vllm:prompt_tokens_cached',
  'vllm:generation_tokens',
  'vllm:corrupted_requests',
  'vllm:estimated_flops_per_gpu',
  'vllm:estimated_read_bytes_per_gpu',
  'vllm:estimated_write_bytes_per_gpu',
];

const DRAFT_COUNTERS = [
  'vllm:spec_decode_num_drafts',
  'vllm:spec_decode_num_draft_tokens',
  'vllm:spec_decode_num_accepted_tokens',
];

const DIFFUSION_COUNTERS = [
  'vllm:diffusion_num_denoising_steps',
  'vllm:diffusion_num_canvas_positions',
  'vllm:diffusion_num_committed_tokens',
];

const COUNTERS_BY_LABEL: readonly (readonly [string, string, readonly string[]])[] = [
  ['vllm:prompt_tokens_by_source', 'source', ['local_compute', 'local_cache_hit', 'external_kv_transfer']],
  [
    'vllm:prompt_tokens_cached_by_source',
    'source',
    ['device', 'host', 'p2p', 'disk', 'external_unspecified'],
  ],
  ['vllm:request_success', 'finished_reason', ['stop', 'length', 'abort', 'error', 'repetition']],
];

const HISTOGRAMS = [
  'vllm:request_num_preemptions',
  'vllm:iteration_tokens_total',
  'vllm:request_prompt_tokens',
  'vllm:request_generation_tokens',
  'vllm:request_max_num_generation_tokens',
  'vllm:request_params_n',
  'vllm:request_params_max_tokens',
  'vllm:request_prefill_kv_computed_tokens',
  'vllm:time_to_first_token_seconds',
  'vllm:inter_token_latency_seconds',
  'vllm:request_time_per_output_token_seconds',
  'vllm:e2e_request_latency_seconds',
  'vllm:request_queue_time_seconds',
  'vllm:request_inference_time_seconds',
  'vllm:request_prefill_time_seconds',
  'vllm:request_decode_time_seconds',
  'vllm:kv_block_lifetime_seconds',
  'vllm:kv_block_idle_before_evict_seconds',
  'vllm:kv_block_reuse_gap_seconds',
];
