import type { EngineCoreOutput, EngineCoreOutputs } from '../../src/engine/messages.ts';
import { output, queued, scheduled } from '../support/messages.ts';

/** Puts other outputs around some: one before, one behind. */
type Around = (outputs: readonly EngineCoreOutput[]) => readonly EngineCoreOutput[];

/** A message of engine 0 with all there may be in one; of its outputs, the second is that of the victim. */
export function wholeMessage(victim: string, around: Around): EngineCoreOutputs {
  return {
    engine_index: 0,
    engine_dead: false,
    outputs: around([
      output(victim, 3, {
        events: [queued(1), scheduled(2)],
        prefill_stats: {
          num_prompt_tokens: 8,
          num_computed_tokens: 5,
          num_cached_tokens: 3,
          num_local_cached_tokens: 2,
          num_external_cached_tokens: 1,
        },
        trace_headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
        num_nans_in_logits: 1,
        finish_reason: 0,
      }),
    ]),
    scheduler_stats: {
      num_running_reqs: 1,
      num_waiting_reqs: 1,
      num_skipped_waiting_reqs: 1,
      kv_cache_usage: 0.5,
      num_kv_fetch_reqs_by_stage: { in_progress: 1 },
      prefix_cache_stats: { queries: 10, hits: 5 },
      connector_prefix_cache_stats: { queries: 10, hits: 5, hits_by_source: { host: 2 } },
      kv_cache_eviction_events: [{ lifetime_seconds: 2, idle_seconds: 1, reuse_gaps_seconds: [0.5] }],
      spec_decoding_stats: {
        num_spec_tokens: 2,
        num_drafts: 2,
        num_draft_tokens: 4,
        num_accepted_tokens: 3,
        num_accepted_tokens_per_pos: [2, 1],
      },
      kv_connector_stats: {
        NixlConnector: {
          transfer_duration: [0.5],
          post_duration: [0.1],
          bytes_transferred: [1000],
          num_descriptors: [4],
          num_failed_transfers: [1],
          num_failed_notifications: [1],
          num_kv_expired_reqs: [1],
        },
        MooncakeStoreConnector: {
          save_put: [{ duration_seconds: 1, num_keys: 2, num_bytes: 3, status: 'ok', num_failed_keys: 0 }],
        },
        OffloadingConnector: {
          data: {
            load_bytes: 1,
            load_time: 1,
            load_size: [1],
            store_bytes: 1,
            store_time: 1,
            store_size: [1],
            stores_skipped: 1,
          },
        },
      },
      cudagraph_stats: {
        num_unpadded_tokens: 1,
        num_padded_tokens: 2,
        num_paddings: 1,
        runtime_mode: 'FULL',
      },
      perf_stats: { num_flops_per_gpu: 1n, num_read_bytes_per_gpu: 2, num_write_bytes_per_gpu: 3 },
    },
    timestamp: 3,
    finished_requests: ['nobody'],
  };
}

/** The way to every property within an object, at any depth, as `a.b.0`. */
export function placesIn(object: object): readonly string[] {
  return Object.entries(object).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? [key, ...placesIn(value).map((place) => `${key}.${place}`)]
      : [key],
  );
}

/** Puts a property in a place that is there. */
export function define(object: object, place: string, property: PropertyDescriptor): void {
  const keys = place.split('.');
  const owner = keys.slice(0, -1).reduce((inner, key) => (inner as Record<string, object>)[key]!, object);
  Object.defineProperty(owner, keys.at(-1)!, { ...property, enumerable: true, configurable: true });
}
