import type { IntervalAccumulator } from './interval-accumulator.ts';

/** Where a stats log learns of engines and what they do. A `VllmInstrumentation` is one. */
export interface StatsSource {
  /**
   * Tells of every engine there is, at once, and of each that comes or goes from then on. Any number of watchers
   * may watch at a time.
   *
   * @returns Ends the watch. A second call does nothing.
   */
  watchEngines(watcher: EngineWatcher): () => void;
}

/** Told of engines as they come and go. Neither method throws. */
export interface EngineWatcher {
  /** An engine is there, before it has done anything; or was there when the watch began. */
  engineAdded(engine: WatchedEngine): void;
  /** An engine has gone, with all that its end recorded; it can still be read during the call. */
  engineRemoved(engine: WatchedEngine): void;
}

/** One engine, from its coming to its going: one that comes back under the same index is another. */
export interface WatchedEngine {
  /** The engine's index, as in the `engine` label. */
  readonly index: number;
  /** Where the engine stands now: a new object at each call. Counters only grow. */
  readStats(): EngineStats;
  /**
   * Gives `accumulator` whatever the engine observes from now on. Any number may be attached.
   *
   * @returns Ends that.
   */
  attach(accumulator: IntervalAccumulator): () => void;
}

/**
 * The counters of one engine: the values of its series, from which a log takes what an interval added. They are whole
 * numbers up to 2^53; beyond, each is the double nearest to the exact sum, and the difference of two readings is off by
 * at most a unit in the last place of the later one.
 */
export interface EngineCounters {
  /** Prompt tokens computed here: `vllm:prompt_tokens_by_source{source="local_compute"}`. */
  readonly promptTokens: number;
  /** `vllm:generation_tokens`. */
  readonly generationTokens: number;
  /** `vllm:num_preemptions`. */
  readonly preemptions: number;
  /** `vllm:prefix_cache_queries`, tokens. */
  readonly prefixCacheQueries: number;
  /** `vllm:prefix_cache_hits`, tokens. */
  readonly prefixCacheHits: number;
  /** `vllm:external_prefix_cache_queries`, tokens. */
  readonly externalPrefixCacheQueries: number;
  /** `vllm:external_prefix_cache_hits`, tokens. */
  readonly externalPrefixCacheHits: number;
  /** `vllm:mm_cache_queries`, items. */
  readonly mmCacheQueries: number;
  /** `vllm:mm_cache_hits`, items. */
  readonly mmCacheHits: number;
  /** `vllm:estimated_flops_per_gpu`. */
  readonly flopsPerGpu: number;
  /** `vllm:estimated_read_bytes_per_gpu`. */
  readonly readBytesPerGpu: number;
  /** `vllm:estimated_write_bytes_per_gpu`. */
  readonly writeBytesPerGpu: number;
}

/** {@link EngineCounters} and gauges of one engine at one moment. */
export interface EngineStats extends EngineCounters {
  /** Requests in the running set. */
  readonly running: number;
  /** Requests that wait for capacity, those set aside not among them. */
  readonly waiting: number;
  /** Requests that the scheduler set aside. */
  readonly deferred: number;
  /** KV blocks in use as a ratio, 0 to 1. */
  readonly kvCacheUsage: number;
}
