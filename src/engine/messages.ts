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
  /** Above 0 where the step's logits held NaN. */
  readonly num_nans_in_logits?: number | null | undefined;
}

/** Look-ups in a prefix cache since the previous statistics, in tokens. */
export interface PrefixCacheStats {
  readonly reset?: boolean | undefined;
  readonly requests?: number | undefined;
  readonly queries?: number | undefined;
  readonly hits?: number | undefined;
  /** The look-ups of resumed requests, which the counters leave out. */
  readonly preempted_requests?: number | undefined;
  readonly preempted_queries?: number | undefined;
  readonly preempted_hits?: number | undefined;
}

/** The scheduler's state after a step (gauges) and what the step added (deltas). */
export interface SchedulerStats {
  /** Requests in the running set. */
  readonly num_running_reqs?: number | undefined;
  /** Requests that wait for capacity. */
  readonly num_waiting_reqs?: number | undefined;
  /** Requests the scheduler set aside in this step (deferred). */
  readonly num_skipped_waiting_reqs?: number | undefined;
  readonly step_counter?: number | undefined;
  readonly current_wave?: number | undefined;
  /** KV blocks in use as a ratio, 0 to 1. */
  readonly kv_cache_usage?: number | undefined;
  readonly prefix_cache_stats?: PrefixCacheStats | null | undefined;
  readonly connector_prefix_cache_stats?: PrefixCacheStats | null | undefined;
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
