import type { PrefillStats } from '../request/prefill-stats.ts';

/**
 * The messages of a vLLM V1 engine, as a frontend receives them. Field names, and ints for enums, are vLLM's
 * own, so that a decoded message can be handed over as it is. Every field may be missing where the engine
 * leaves out its default; unknown fields are ignored.
 */

/** Something the scheduler did with a request. */
export interface EngineCoreEvent {
  /** 1 QUEUED, 2 SCHEDULED, 3 PREEMPTED. Other values are ignored. */
  readonly type: number;
  /** Engine-monotonic seconds. */
  readonly timestamp: number;
}

/** What one engine step brought for one request. */
export interface EngineCoreOutput {
  readonly request_id: string;
  /** Only its length is read: an array, a typed array, or any object that knows its length. */
  readonly new_token_ids?: { readonly length: number } | undefined;
  /** Null while the request goes on; with its last output 0 stop, 1 length, 2 abort, 3 error or 4 repetition. */
  readonly finish_reason?: number | null | undefined;
  readonly events?: readonly EngineCoreEvent[] | null | undefined;
  readonly prefill_stats?: PrefillStats | null | undefined;
  /**
   * The W3C headers that the request came with, which the engine gives back: they make the parent of the span of a
   * request that is tracked from its first output on.
   */
  readonly trace_headers?: Readonly<Record<string, string>> | null | undefined;
  /** Above 0 where the step's logits held NaN. */
  readonly num_nans_in_logits?: number | null | undefined;
}

/** A count or a sum. A decoder may give 64-bit integers as bigint: added up, they lose nothing. */
export type Statistic = number | bigint;

/** Look-ups in a prefix cache since the previous statistics, in tokens. */
export interface PrefixCacheStats {
  readonly reset?: boolean | undefined;
  readonly requests?: Statistic | undefined;
  readonly queries?: Statistic | undefined;
  readonly hits?: Statistic | undefined;
  /** The look-ups of resumed requests, which the counters leave out. */
  readonly preempted_requests?: Statistic | undefined;
  readonly preempted_queries?: Statistic | undefined;
  readonly preempted_hits?: Statistic | undefined;
  /** Hits of a connector's cache by tier: `host`, `p2p`, `disk`, `external_unspecified`. Sparse. */
  readonly hits_by_source?: Readonly<Record<string, Statistic>> | null | undefined;
}

/** What speculative decoding did since the previous statistics; of a diffusion model, what denoising did. */
export interface SpecDecodingStats {
  /** Tokens per draft as configured. */
  readonly num_spec_tokens?: Statistic | undefined;
  readonly num_drafts?: Statistic | undefined;
  readonly num_draft_tokens?: Statistic | undefined;
  readonly num_accepted_tokens?: Statistic | undefined;
  /** Accepted tokens by position in the draft, from 0. */
  readonly num_accepted_tokens_per_pos?: readonly Statistic[] | null | undefined;
}

/** Estimates of one step's work per GPU; sums beyond 2^53 are exact where these are bigint. */
export interface PerfStats {
  readonly num_flops_per_gpu?: Statistic | undefined;
  readonly num_read_bytes_per_gpu?: Statistic | undefined;
  readonly num_write_bytes_per_gpu?: Statistic | undefined;
}

/** How the model ran in a step, for the stats log alone. */
export interface CudagraphStat {
  readonly num_unpadded_tokens?: Statistic | undefined;
  readonly num_padded_tokens?: Statistic | undefined;
  readonly num_paddings?: Statistic | undefined;
  readonly runtime_mode?: string | undefined;
}

/** The life of one sampled KV block that was evicted, in seconds. */
export interface KvCacheEvictionEvent {
  readonly lifetime_seconds?: number | undefined;
  readonly idle_seconds?: number | undefined;
  readonly reuse_gaps_seconds?: readonly number[] | null | undefined;
}

/** The scheduler's state after a step (gauges) and what the step added (deltas). */
export interface SchedulerStats {
  /** Requests in the running set. */
  readonly num_running_reqs?: number | undefined;
  /** Requests that wait for capacity. */
  readonly num_waiting_reqs?: number | undefined;
  /** Requests the scheduler set aside in this step (deferred). */
  readonly num_skipped_waiting_reqs?: number | undefined;
  /** Requests whose KV is being fetched, by stage: `waiting_to_start`, `in_progress`, `completed_waiting`. Sparse. */
  readonly num_kv_fetch_reqs_by_stage?: Readonly<Record<string, number>> | null | undefined;
  readonly step_counter?: number | undefined;
  readonly current_wave?: number | undefined;
  /** KV blocks in use as a ratio, 0 to 1. */
  readonly kv_cache_usage?: number | undefined;
  readonly prefix_cache_stats?: PrefixCacheStats | null | undefined;
  readonly connector_prefix_cache_stats?: PrefixCacheStats | null | undefined;
  readonly kv_cache_eviction_events?: readonly KvCacheEvictionEvent[] | null | undefined;
  readonly spec_decoding_stats?: SpecDecodingStats | null | undefined;
  /**
   * What the KV connectors did. The payloads of NIXL, of the Mooncake store and of offloading are told apart by their
   * content, alone or several under their class names; anything else is ignored.
   */
  readonly kv_connector_stats?: Readonly<Record<string, unknown>> | null | undefined;
  readonly cudagraph_stats?: CudagraphStat | null | undefined;
  readonly perf_stats?: PerfStats | null | undefined;
}

/** Look-ups in the frontend's own multimodal cache since the previous statistics, in media items. */
export interface MultiModalCacheStats {
  readonly queries?: Statistic | undefined;
  readonly hits?: Statistic | undefined;
}

/** One message of an engine: the outputs of a step, its scheduler statistics, or both. */
export interface EngineCoreOutputs {
  /** Which engine sent this. Indices may be sparse and start anywhere. Default 0. */
  readonly engine_index?: number | undefined;
  readonly outputs?: readonly EngineCoreOutput[] | undefined;
  readonly scheduler_stats?: SchedulerStats | null | undefined;
  /** Engine-monotonic seconds at which the step ended. */
  readonly timestamp?: number | undefined;
  /**
   * True where the engine has died, which ends its requests with `error`: those of `engine_index`, or of every engine
   * where that is left out. No field of vLLM's, whose frame `ENGINE_CORE_DEAD` the decoder turns into this.
   */
  readonly engine_dead?: boolean | undefined;
  /** Ids of requests that the engine let go since the previous message, whatever the reason. */
  readonly finished_requests?: Iterable<string> | null | undefined;
}
