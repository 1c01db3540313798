import type { StartRequestOptions } from '../request/request-options.ts';
import type { VllmRequest } from '../request/vllm-request.ts';
import type { Engine } from './engine.ts';
import type { SchedulerStats } from './messages.ts';

/** The metrics of one engine, from `vllm.engine(index)`: where requests start and scheduler statistics go. */
export class EngineMetrics {
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The engine's index, as in the `engine` label. */
  get index(): number {
    return this.#engine.index;
  }

  /**
   * Starts a request on this engine, with a span `llm_request` under the active Context or the given headers.
   *
   * Never throws: what can't be right in `options` is left out and counted in `status().dropped`.
   */
  startRequest(options?: StartRequestOptions): VllmRequest {
    return this.#engine.startRequest(options ?? {});
  }

  /**
   * Sets the gauges and adds the deltas of one `SchedulerStats`. `vllm.observe` does so for the messages it is
   * given. Never throws: a value that can't be right is taken as 0 and counted.
   */
  recordSchedulerStats(stats: SchedulerStats): void {
    this.#engine.recordSchedulerStats(stats);
  }
}
