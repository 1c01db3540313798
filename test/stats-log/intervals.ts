import { IntervalAccumulator, type ObservedInterval } from '../../src/engine/interval-accumulator.ts';
import { NO_COUNTERS, type EngineInterval } from '../../src/stats-log/engine-interval.ts';
import type { EngineStats } from '../../src/engine/stats-source.ts';
import type { LineContent, StatsAttributes } from '../../src/stats-log/stats-line.ts';

/** An engine that has done nothing. */
export const NOTHING_DONE: EngineStats = {
  ...NO_COUNTERS,
  running: 0,
  waiting: 0,
  deferred: 0,
  kvCacheUsage: 0,
};

/** The interval of one engine that did so much and nothing else. */
export function intervalOf(did: Partial<EngineInterval>): EngineInterval {
  return { ...NOTHING_DONE, engines: 1, observed: observedBy(() => {}), ...did };
}

/** What an accumulator gathers. */
export function observedBy(observe: (accumulator: IntervalAccumulator) => void): ObservedInterval {
  const accumulator = new IntervalAccumulator();
  observe(accumulator);
  return accumulator.drain();
}

/** A line with its attributes made. */
export function whole(
  line: LineContent | undefined,
): Omit<LineContent, 'attributes'> & { readonly attributes: StatsAttributes } {
  return { ...line!, attributes: line!.attributes() };
}
