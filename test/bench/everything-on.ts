import { VllmInstrumentation, type SchedulerStats } from 'opentelemetry-instrumentation-vllm';
import type { MeterProvider } from '@opentelemetry/api';

const REQUESTS_PER_ENGINE = 40;
const STEPS = 24;

/** Steps until the first request of a batch has ended. */
const STEPS_OF_ONE = 6;

/**
 * A service of so many engines of which every metric there is has been recorded: connectors of each kind, speculative
 * decoding, KV fetches, adapters, caches, tool calls; with requests that have ended and some in flight.
 *
 * @returns Has every engine serve one more request, so that nearly all of its series change.
 */
export function everythingOn(engines: number, provider: MeterProvider): () => void {
  const vllm = new VllmInstrumentation({ modelName: 'meta-llama/Llama-3.1-8B-Instruct', maxLoras: 4 });
  vllm.setMeterProvider(provider);
  const outcome = { mode: 'streaming', outcome: 'tool_call', requestType: 'chat_completions' } as const;
  vllm.recordToolCallParserInvocation(outcome);
  for (let index = 0; index < engines; index += 1) {
    const engine = vllm.engine(index);
    engine.recordCacheConfig({ block_size: 16, num_gpu_blocks: 27_000 + index, cache_dtype: 'auto' });
    engine.recordMultiModalCacheStats({ queries: 40, hits: 31 });
    engine.recordWake();
    serve(vllm, index, { number: 0, requests: REQUESTS_PER_ENGINE, steps: STEPS });
  }
  let number = 0;
  return () => {
    number += 1;
    for (let index = 0; index < engines; index += 1) {
      serve(vllm, index, { number, requests: 1, steps: STEPS_OF_ONE });
    }
  };
}

/** Requests that arrive together, and the steps that follow. */
interface Batch {
  readonly number: number;
  readonly requests: number;
  readonly steps: number;
}

function serve(vllm: VllmInstrumentation, index: number, { number, requests, steps }: Batch): void {
  const engine = vllm.engine(index);
  const ids = Array.from({ length: requests }, (_, request) => `${index}-${number}-${request}`);
  const start = 100 * number;
  for (const [request, requestId] of ids.entries()) {
    engine.startRequest({
      requestId,
      promptTokens: 64 + 97 * request,
      maxTokens: 512,
      loraName: request % 8 === 0 ? 'adapter' : undefined,
      arrivalTime: start + 1000,
    });
  }
  for (let step = 0; step < steps; step += 1) {
    const timestamp = start + 10 + index / 7 + (step + 1) ** 1.5 / 30;
    const outputs = ids.flatMap((id, request) => outputOf(id, request, step, timestamp));
    const receivedAt = start + 1000.4 + step ** 1.5 / 30;
    vllm.observe({ engine_index: index, timestamp, outputs, scheduler_stats: statsOf(step) }, receivedAt);
  }
}

/** The requests take their first token one after the other, and most end, at different lengths. */
function outputOf(id: string, request: number, step: number, timestamp: number) {
  const first = request % 5;
  const last = first + 4 + (request % 23);
  if (step < first || step > last) return [];
  const prompt = 64 + 97 * request;
  return [
    {
      request_id: id,
      new_token_ids: { length: 1 + (request % 3) },
      finish_reason: step === last ? request % 5 : null,
      events:
        step === first
          ? [
              { type: 1, timestamp: timestamp - 0.9 },
              { type: 2, timestamp: timestamp - 0.5 },
            ]
          : [{ type: 3, timestamp }],
      prefill_stats:
        step === first
          ? {
              num_prompt_tokens: prompt,
              num_computed_tokens: prompt - 32,
              num_cached_tokens: 32,
              num_local_cached_tokens: 16,
              num_external_cached_tokens: 16,
            }
          : null,
    },
  ];
}

function statsOf(step: number): SchedulerStats {
  const seconds = [0.0031 * (step + 1), 0.047, 0.62];
  const bytes = [3e6, 2.5e7 * (step + 1)];
  return {
    num_running_reqs: REQUESTS_PER_ENGINE - step,
    num_waiting_reqs: step,
    num_skipped_waiting_reqs: 1,
    num_kv_fetch_reqs_by_stage: { waiting_to_start: 1, in_progress: step, completed_waiting: 2 },
    kv_cache_usage: (step + 0.25) / STEPS,
    prefix_cache_stats: { queries: 1731, hits: 1204 },
    connector_prefix_cache_stats: { queries: 527, hits: 310, hits_by_source: { host: 180, disk: 130 } },
    kv_cache_eviction_events: [
      { lifetime_seconds: 3.7 * (step + 1), idle_seconds: 0.77, reuse_gaps_seconds: seconds },
    ],
    spec_decoding_stats: {
      num_spec_tokens: 4,
      num_drafts: 40,
      num_draft_tokens: 160,
      num_accepted_tokens: 97,
      num_accepted_tokens_per_pos: [38, 29, 19, 11],
    },
    perf_stats: {
      num_flops_per_gpu: 123_456_789_012_345n,
      num_read_bytes_per_gpu: 16_060_522_496,
      num_write_bytes_per_gpu: 1_048_576,
    },
    kv_connector_stats: {
      NixlConnector: {
        transfer_duration: seconds,
        post_duration: seconds.map((value) => value / 10),
        bytes_transferred: [2e7, 3e8, 1e9],
        num_descriptors: [12, 480, 9000],
        num_failed_transfers: [1],
        num_failed_notifications: [1],
        num_kv_expired_reqs: [2],
      },
      MooncakeStoreConnector: Object.fromEntries(
        ['save_exists', 'save_put', 'load_get', 'lookup_exists'].map((operation) => [
          operation,
          ['ok', 'error', 'partial_failure'].map((status) => ({
            duration_seconds: seconds[0],
            num_keys: 16,
            num_bytes: 4_194_304,
            status,
            num_failed_keys: status === 'ok' ? 0 : 3,
          })),
        ]),
      ),
      OffloadingConnector: {
        load_bytes: 3e7,
        load_time: 0.013,
        load_size: bytes,
        store_bytes: 3e7,
        store_time: 0.017,
        store_size: bytes,
        stores_skipped: 1,
      },
    },
  };
}
