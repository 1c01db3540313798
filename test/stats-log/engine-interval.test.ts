import { describe, expect, it } from 'vitest';
import {
  intervalBetween,
  mergeIntervals,
  sawAnything,
  withoutGauges,
} from '../../src/stats-log/engine-interval.ts';
import type { EngineCounters } from '../../src/engine/stats-source.ts';
import { intervalOf, NOTHING_DONE, observedBy } from './intervals.ts';

const GAUGES = new Set(['running', 'waiting', 'deferred', 'kvCacheUsage']);
const COUNTERS = Object.keys(NOTHING_DONE).filter((name) => !GAUGES.has(name)) as (keyof EngineCounters)[];
const NONE = observedBy(() => {});

describe('the interval between two readings', () => {
  it.each(COUNTERS)('tells what was added to %s', (name) => {
    const before = { ...NOTHING_DONE, [name]: 100 };
    expect(intervalBetween(before, { ...before, [name]: 142 }, NONE)).toEqual(intervalOf({ [name]: 42 }));
  });

  it('tells where the gauges stand at its end', () => {
    const before = { ...NOTHING_DONE, running: 9, waiting: 9, deferred: 9, kvCacheUsage: 0.9 };
    const now = { ...NOTHING_DONE, running: 1, waiting: 2, deferred: 3, kvCacheUsage: 0.5 };
    expect(intervalBetween(before, now, NONE)).toEqual(
      intervalOf({ running: 1, waiting: 2, deferred: 3, kvCacheUsage: 0.5 }),
    );
  });

  it.each([
    ['is large', 2 ** 60, 2 ** 60 + 2 ** 20, 2 ** 20],
    ['went back, as one that began anew', 100, 7, 7],
    ['is no number any more', 100, NaN, 0],
    ['went back to 0', 100, 0, 0],
  ])('has no negative part where a counter %s', (_, before, now, added) => {
    const readings = [before, now].map((flopsPerGpu) => ({ ...NOTHING_DONE, flopsPerGpu }));
    expect(intervalBetween(readings[0]!, readings[1]!, NONE).flopsPerGpu).toBe(added);
  });
});

describe('merged intervals', () => {
  it('sum what was done and who waits, and average the KV usage', () => {
    const all = Object.fromEntries(COUNTERS.map((name, index) => [name, index + 1]));
    const one = intervalOf({ ...all, running: 1, waiting: 2, deferred: 3, kvCacheUsage: 0.25 });
    const other = intervalOf({ ...all, running: 10, waiting: 20, deferred: 30, kvCacheUsage: 0.75 });
    const doubled = Object.fromEntries(COUNTERS.map((name, index) => [name, 2 * (index + 1)]));
    expect(mergeIntervals([one, other], 2)).toEqual(
      intervalOf({ ...doubled, engines: 2, running: 11, waiting: 22, deferred: 33, kvCacheUsage: 0.5 }),
    );
  });

  it('count an engine that has gone with what it did, and not with where it stood', () => {
    const there = intervalOf({ promptTokens: 1, running: 2, kvCacheUsage: 0.5 });
    const gone = withoutGauges(intervalOf({ promptTokens: 4, running: 8, deferred: 1, kvCacheUsage: 0.9 }));
    expect(mergeIntervals([there, gone], 2)).toEqual(
      intervalOf({ engines: 2, promptTokens: 5, running: 2, kvCacheUsage: 0.5 }),
    );
  });

  it('have no KV usage where there is no engine', () => {
    expect(mergeIntervals([], 0)).toEqual(intervalOf({ engines: 0, kvCacheUsage: undefined }));
  });

  it('hold what all have observed', () => {
    const observed = observedBy((accumulator) => accumulator.observeSpecDecode({ num_drafts: 2 }));
    const merged = mergeIntervals([intervalOf({ observed }), intervalOf({}), intervalOf({ observed })], 3);
    expect(merged.observed.specDecode?.drafts).toBe(4);
    expect(observed.specDecode?.drafts).toBe(2);
  });
});

describe('an interval', () => {
  it.each(COUNTERS)('saw something where %s moved', (name) => {
    expect(sawAnything(intervalOf({ [name]: 1 }))).toBe(true);
  });

  it('saw something where anything was observed that has a line', () => {
    const saw = (observe: Parameters<typeof observedBy>[0]): boolean =>
      sawAnything(intervalOf({ observed: observedBy(observe) }));
    expect(saw((a) => a.observeSpecDecode({ num_drafts: 1 }))).toBe(true);
    expect(saw((a) => a.observeNixl({ transfer_duration: [1] }))).toBe(true);
    expect(saw((a) => a.observeSpecDecode({ num_drafts: 0 }))).toBe(false);
    expect(saw((a) => a.observeNixl({ transfer_duration: [] }))).toBe(false);
  });

  it('saw nothing where only gauges are not 0', () => {
    expect(sawAnything(intervalOf({ running: 1, waiting: 2, deferred: 3, kvCacheUsage: 1 }))).toBe(false);
  });
});
