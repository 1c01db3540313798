import type { VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';
import { StatsLogger, type StatsLogStyle } from 'opentelemetry-instrumentation-vllm/stats-log';

/** vLLM's own interval. */
const INTERVAL_SECONDS = 10;

/** A timer would tick by real time: here the simulation says when it is time for the next line. */
const NO_TIMER_MILLIS = 2 ** 31 - 1;

/** The periodic stats log of a simulated service, with a line for every ten simulated seconds. */
export class SimulatedStatsLog {
  readonly #log: StatsLogger;
  #now = 0;
  #nextAt = INTERVAL_SECONDS;

  constructor(vllm: VllmInstrumentation, style: StatsLogStyle, print: (line: string) => void) {
    this.#log = new StatsLogger(vllm, {
      style,
      intervalMillis: NO_TIMER_MILLIS,
      logger: { info: print, debug: () => {} },
      clock: { monotonicSeconds: () => this.#now },
    });
  }

  /** @param at Simulated seconds. */
  advance(at: number): void {
    this.#now = at;
    if (at < this.#nextAt) return;
    this.#log.log();
    this.#nextAt = at + INTERVAL_SECONDS;
  }

  stop(): void {
    this.#log.stop();
  }
}
