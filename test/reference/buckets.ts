/**
 * The reference model's own copy of vLLM's buckets. Taking them from `src/metrics` would let a wrong bound agree with
 * itself, and the parity reference that `test/metrics/catalogue.test.ts` compares with isn't beside every checkout.
 */
const REQUEST_SECONDS = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const TOKEN_SECONDS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const BLOCK_SECONDS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800,
];
const OFFLOAD_BYTES = [1e6, 5e6, 1e7, 2e7, 4e7, 6e7, 8e7, 1e8, 1.5e8, 2e8];

const FIXED: Readonly<Record<string, readonly number[]>> = {
  'vllm:request_num_preemptions': [1, 2, 3, 4, 5, 10, 20],
  'vllm:request_params_n': [1, 2, 5, 10, 20],
  'vllm:iteration_tokens_total': [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
  'vllm:time_to_first_token_seconds': [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
    640, 2560,
  ],
  'vllm:inter_token_latency_seconds': TOKEN_SECONDS,
  'vllm:request_time_per_output_token_seconds': TOKEN_SECONDS,
  'vllm:e2e_request_latency_seconds': REQUEST_SECONDS,
  'vllm:request_queue_time_seconds': REQUEST_SECONDS,
  'vllm:request_prefill_time_seconds': REQUEST_SECONDS,
  'vllm:request_decode_time_seconds': REQUEST_SECONDS,
  'vllm:request_inference_time_seconds': REQUEST_SECONDS,
  'vllm:kv_block_lifetime_seconds': BLOCK_SECONDS,
  'vllm:kv_block_idle_before_evict_seconds': BLOCK_SECONDS,
  'vllm:kv_block_reuse_gap_seconds': BLOCK_SECONDS,
  'vllm:nixl_xfer_time_seconds': [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5],
  'vllm:nixl_post_time_seconds': [0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5],
  'vllm:nixl_bytes_transferred': [
    2048, 8192, 32_768, 131_072, 524_288, 2_097_152, 8_388_608, 33_554_432, 134_217_728, 536_870_912,
    2_147_483_648, 8_589_934_592,
  ],
  'vllm:nixl_num_descriptors': [10, 20, 30, 50, 75, 100, 200, 400, 1000, 2000, 4000, 10_000, 20_000, 50_000],
  'vllm:mooncake_store_operation_time_seconds': [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 4,
  ],
  'vllm:kv_offload_load_size': OFFLOAD_BYTES,
  'vllm:kv_offload_store_size': OFFLOAD_BYTES,
  'vllm:kv_offload_size': OFFLOAD_BYTES,
};

const TOKEN_COUNTS = new Set([
  'vllm:request_prompt_tokens',
  'vllm:request_generation_tokens',
  'vllm:request_max_num_generation_tokens',
  'vllm:request_params_max_tokens',
  'vllm:request_prefill_kv_computed_tokens',
]);

const ONE_TWO_FIVE = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
];

/** Upper bounds of a histogram, `+Inf` left out; token counts follow the model's length, where that is known. */
export function bucketsOf(name: string, maxModelLen: number | undefined): readonly number[] {
  if (TOKEN_COUNTS.has(name)) {
    return maxModelLen === undefined
      ? [...ONE_TWO_FIVE.filter((bound) => bound <= 100_000), 131_072]
      : ONE_TWO_FIVE.filter((bound) => bound <= maxModelLen);
  }
  const bounds = FIXED[name];
  if (bounds === undefined) throw new Error(`${name} is no histogram of the catalogue`);
  return bounds;
}
