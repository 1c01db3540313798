import type { DropCounts } from './metrics/drops.ts';

/** A snapshot of how the instrumentation fares, from `vllm.status()`. */
export interface VllmStatus {
  readonly enabled: boolean;
  /** False while the only MeterProvider in sight is the API's no-op: nothing is exported then. */
  readonly meterProvider: boolean;
  /** False without a registered ContextManager: `recordPreemption()` then finds no request. */
  readonly contextPropagates: boolean;
  /** Engines known so far. */
  readonly engines: number;
  /** Engine requests started and not ended; a request with several choices counts as so many. */
  readonly requestsInFlight: number;
  /** What could not be recorded as it came, by reason. */
  readonly dropped: DropCounts;
}
