import { onTestFinished } from 'vitest';
import { StatsLogger } from '../../src/stats-log/stats-logger.ts';
import type { StatsLoggerOptions } from '../../src/stats-log/stats-logger-options.ts';
import type { VllmInstrumentationOptions } from '../../src/options.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { startService, type Service } from '../support/service.ts';
import { RecordedLines } from './recorded-lines.ts';

/** A log that prints when a test says so. */
export interface Log {
  readonly log: StatsLogger;
  readonly lines: RecordedLines;
  /** The lines that come when so much time has passed on both clocks. */
  after(seconds: number): readonly string[];
}

/** A log of a real instrumentation, on its clock, until the test ends. */
export function startLog(service: Service, options: Partial<StatsLoggerOptions> = {}): Log {
  const { vllm, clock } = service;
  const lines = new RecordedLines();
  const log = new StatsLogger(vllm, { logger: lines, clock, ...options });
  onTestFinished(() => log.stop());
  const after = (seconds: number): readonly string[] => {
    pass(clock, seconds);
    log.log();
    return lines.take();
  };
  return { log, lines, after };
}

/** An instrumentation between real providers, and a log of it. */
export function startLoggedService(
  options: Partial<StatsLoggerOptions> = {},
  serviceOptions: Partial<VllmInstrumentationOptions> = {},
): Service & Log {
  const service = startService(serviceOptions);
  return { ...service, ...startLog(service, options) };
}

/** Moves both clocks. */
export function pass(clock: ManualClock, seconds: number): void {
  clock.wall += seconds;
  clock.monotonic += seconds;
}

/** The main line where nothing happened, in the words of the Python frontend. */
export const IDLE =
  'Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%';

/** The main line where nothing but throughput moves. */
export function withRates(prompt: string, generation: string): string {
  return IDLE.replace('0.0', prompt).replace(
    'generation throughput: 0.0',
    `generation throughput: ${generation}`,
  );
}
