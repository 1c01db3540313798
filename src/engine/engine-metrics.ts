import type { StartRequestOptions } from '../request/request-options.ts';
import type { VllmRequest } from '../request/vllm-request.ts';
import type { SleepLevel } from './frontend-series.ts';
import type { MultiModalCacheStats, SchedulerStats } from './messages.ts';

/**
 * The metrics of one engine, from `vllm.engine(index)`: where requests start, and where statistics go that
 * `vllm.observe` is not given.
 *
 * None of its methods throws: what can't be right is left out and counted in `status().dropped`.
 */
export interface EngineMetrics {
  /** The engine's index, as in the `engine` label. */
  readonly index: number;

  /** Starts a request on this engine, with a span `llm_request` under the active Context or the given headers. */
  startRequest(options?: StartRequestOptions): VllmRequest;

  /**
   * Sets the gauges and adds the deltas of one `SchedulerStats`. `vllm.observe` does so for the messages it is given.
   * A gauge whose value can't be right keeps the last one; a delta counts as 0.
   */
  recordSchedulerStats(stats: SchedulerStats): void;

  /**
   * Shows the engine's cache configuration in the labels of `vllm:cache_config_info`, in the place of the one before.
   *
   * @param config - The fields as vLLM names them, at most 128, `num_gpu_blocks` and `block_size` say. Values become
   * text as in vLLM: null is `None`, true `True`. A float that is whole is to be given as text, `'1.0'`.
   */
  recordCacheConfig(config: Readonly<Record<string, unknown>>): void;

  /** Shows the engine as asleep: weights in the host's memory (1), or discarded (2). Level 0 only stops it. */
  recordSleep(level: SleepLevel): void;

  /** Shows the engine as awake, as it is at first. */
  recordWake(): void;

  /** Adds look-ups in the frontend's own cache of processed media, which no engine knows of. */
  recordMultiModalCacheStats(stats: MultiModalCacheStats): void;
}
